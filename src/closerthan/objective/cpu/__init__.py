"""The CPU as a device: objectives evaluated by compiled kernels in several threads."""
