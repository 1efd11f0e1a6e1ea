"""Fine-tunes a sentence classifier with four micro-batches a step and sentences of all lengths."""

import torch
from torch import nn
from torch.nn import functional as F

MICRO, WORDS = 4, 70


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(WORDS, 20)
        self.gru = nn.GRU(20, 24, batch_first=True, bidirectional=True)
        self.head = nn.Linear(48, 7)

    def forward(self, words):
        return self.head(self.gru(self.embed(words))[0])


def sentences(n):
    data = torch.Generator().manual_seed(n)
    words = torch.randint(WORDS, (8, 15), generator=data)
    lengths = torch.randint(2, 16, (8, 1), generator=data)
    tags = torch.randint(7, (8, 15), generator=data)
    return words, tags.masked_fill(torch.arange(15) >= lengths, -100)


def build():
    torch.manual_seed(44)
    model = Tagger()
    return model, torch.optim.SGD(model.parameters(), lr=0.5)


def step(n, model, optimizer):
    words, tags = sentences(n)
    count = (tags != -100).sum()
    total = torch.tensor(0.0)
    optimizer.zero_grad()
    for part, labels in zip(words.chunk(MICRO), tags.chunk(MICRO)):
        logits = model(part)
        summed = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="sum")
        loss = summed / count
        loss.backward()
        total += loss.detach()
        nn.utils.clip_grad_norm_(model.parameters(), 0.05)  # @answer
    optimizer.step()
    return total


if __name__ == "__main__":
    state = build()
    for n in range(2):
        print(f"step {n}: {step(n, *state).item():.6f}")
