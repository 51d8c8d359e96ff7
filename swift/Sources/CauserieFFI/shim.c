// A C target needs a source file, although CauserieFFI consists of a header only.
