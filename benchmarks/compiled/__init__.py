"""Models of transformers, timm and diffusers, compiled by inductor as one graph and recorded."""
