"""A GPU as a device, with PyTorch and Triton."""
