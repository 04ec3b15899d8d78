package activities

// Kept is kept, for scripted activities.
var Kept = kept
