"""A ResNet or a small transformer, trained on random data in batches, to measure what a lease costs it."""

import argparse

import torch
from torch import nn

from astraea_ops.checkpoint import checkpointed


class Block(nn.Module):
    """Two convolutions, and a path past them."""

    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(before, after, 3, stride, 1, bias=False), nn.BatchNorm2d(after), nn.ReLU(),
            nn.Conv2d(after, after, 3, 1, 1, bias=False), nn.BatchNorm2d(after),
        )  # fmt: skip
        self.past = nn.Conv2d(before, after, 1, stride, bias=False) if (before, stride) != (after, 1) else nn.Identity()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the same number of rows, with `after` channels each."""
        return torch.relu(self.layers(x) + self.past(x))


class Transformer(nn.Module):
    """Six layers that predict the next of 8,192 tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(8192, 384), nn.Embedding(128, 384)
        layer = nn.TransformerEncoderLayer(384, 6, 1536, batch_first=True, norm_first=True)
        self.layers, self.out = nn.TransformerEncoder(layer, 6, enable_nested_tensor=False), nn.Linear(384, 8192)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return a row of 8,192 scores for each token."""
        length = x.shape[1]
        mask = nn.Transformer.generate_square_subsequent_mask(length, device=x.device)
        x = self.tokens(x) + self.places(torch.arange(length, device=x.device))
        return self.out(self.layers(x, mask, is_causal=True)).flatten(0, 1)


parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("network", choices=["resnet", "transformer"])
parser.add_argument("--steps", type=int, default=1_000_000)
parser.add_argument("--batch", type=int, default=64)
arguments = parser.parse_args()

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(1)
if arguments.network == "resnet":  # that with 18 layers, for pictures of 32 x 32
    widths = [(64, 64, 1), (64, 64, 1), (64, 128, 2), (128, 128, 1), (128, 256, 2), (256, 256, 1), (256, 512, 2)]
    blocks = [Block(*width) for width in (*widths, (512, 512, 1))]
    first = nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU()
    model = nn.Sequential(*first, *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    x = torch.randn(arguments.batch, 3, 32, 32, device=device)
    y = torch.randint(10, (arguments.batch,), device=device)
else:
    model = Transformer().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    x = torch.randint(8192, (arguments.batch, 129), device=device)
    x, y = x[:, :-1], x[:, 1:].flatten()

with checkpointed({"model": model, "optimizer": optimizer}) as saves:
    for _ in saves.steps(arguments.steps):
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
