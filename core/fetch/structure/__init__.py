"""Whether a file is whole: one module a format, each walks a file to its end marker with seeks, so
that memory stays flat however large the file. Lengths in a file are claims, never trusted."""
