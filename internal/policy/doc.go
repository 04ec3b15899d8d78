// Package policy is the embedded trainer: a small neural policy that is trained
// for real, with GRPO, on the CPU, for any env.Playable.
//
// The policy sees sparse binary features and chooses one of a few actions; what
// it did is rendered as the answer text that a language model would give, and
// the environment's own referee judges that text. So everything around the
// policy - datasets, reward, scorecards - is what it is for a large model.
//
// Training is group relative policy optimisation (arXiv:2402.03300), on-policy:
// of every task in a batch the policy samples Rollouts answers; an answer's
// advantage is its reward against its group, (r - mean) / (std + 1e-4); one Adam
// step follows the gradient of
//
//	mean over decisions of  A log p(action) - KL kl(p, start) + Entropy H(p)
//
// with the gradient's norm clipped. A group in which all rewards are equal says
// nothing and is skipped. Adam's moments start anew each round; the reward's
// weights go on from round to round, because their state is part of the Model.
//
// Results are the same bytes for any number of cores, and for any architecture
// as far as this package goes: products are rounded before they are added, and
// exp and log are its own (see portable.go).
package policy

// Version changes whenever the same inputs would give other weights than before.
const Version = "grpo/1"
