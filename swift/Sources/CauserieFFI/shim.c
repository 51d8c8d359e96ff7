// A target of C needs a source file; all there is to CauserieFFI is its header.
