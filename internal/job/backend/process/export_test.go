package process

// Persist is persist, for a disk that a test plays.
var Persist = persist
