"""The TensorBoard plugin and its server: result files as graphs in a browser."""
