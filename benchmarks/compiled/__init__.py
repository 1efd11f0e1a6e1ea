"""Twelve models of transformers, timm and diffusers, compiled as one graph by inductor and recorded."""
