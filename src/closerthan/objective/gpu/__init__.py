"""The objective on a GPU, with PyTorch and Triton."""
