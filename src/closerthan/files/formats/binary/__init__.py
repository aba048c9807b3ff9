"""Binary files: arrays of NumPy, MATLAB, HDF5 and Parquet."""
