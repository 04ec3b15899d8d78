package main

// unknownHolder is said of a process that is another user's, or of any process
// on systems without /proc.
const unknownHolder = "an unknown process"
