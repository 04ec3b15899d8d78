package ask

import (
	"math"

	"floe/internal/endpoint"
)

// budget bounds tokens and money at one time.
type budget struct {
	plan   Plan
	tokens *endpoint.Budget
	money  *endpoint.Budget // in billionths, so that adding them up is exact
}

const billion = 1e9

func newBudget(p Plan, used Tally) budget {
	return budget{
		p, endpoint.NewBudget(p.MaxTokens, used.SpentTokens),
		endpoint.NewBudget(billionths(p.MaxCost), billionths(used.Cost)),
	}
}

// billionths rounds up: a budget is never exceeded by rounding.
func billionths(m Money) int64 { return int64(math.Ceil(float64(m) * billion)) }

// hold sets aside the most that a call can use, or says which budget has no room.
func (b budget) hold(most Answer) error {
	if !b.tokens.Hold(most.spent()) {
		return &SpentError{"tokens", float64(b.plan.MaxTokens), float64(b.tokens.Used())}
	}
	if !b.money.Hold(billionths(b.plan.Price.of(most))) {
		b.tokens.Settle(most.spent(), 0)
		return &SpentError{"money", float64(b.plan.MaxCost), float64(b.money.Used()) / billion}
	}
	return nil
}

func (b budget) settle(most, used Answer) {
	b.tokens.Settle(most.spent(), used.spent())
	b.money.Settle(billionths(b.plan.Price.of(most)), billionths(b.plan.Price.of(used)))
}
