# Astraea in a container, in the environment that `make` builds from requirements.lock:
#     docker build -t astraea .
#     docker run --rm astraea make reproduce CLAIM=C1
#     docker run --rm -v "$PWD/figures:/astraea/figures" astraea make figures
FROM python:3.11-slim
RUN apt-get update && apt-get install --yes --no-install-recommends make && rm -rf /var/lib/apt/lists/*
WORKDIR /astraea
COPY . .
RUN make .venv/.stamp
# one thread per process, as in the Makefile
ENV PATH="/astraea/.venv/bin:$PATH" OMP_NUM_THREADS=1
CMD ["make", "smoke"]
