"""Small models of transformers, timm, diffusers and torch alone, compiled by inductor as one graph and recorded."""
