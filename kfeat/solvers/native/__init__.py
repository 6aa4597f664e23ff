"""What LIBLINEAR and LIBSVM share: how their C code is called, and the rows it reads."""
