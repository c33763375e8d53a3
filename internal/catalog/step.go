package catalog

import "github.com/idempact/idempact/contract"

// NextStep returns what is to be done about an outcome, as the loop has it: a doubt is
// resent only where the endpoint makes that safe.
func NextStep(t contract.Terms, o contract.Outcome) contract.Step {
	next := o.Next()
	if next == contract.Resend && o.Effect() == contract.EffectMaybe && !t.HonoursKeys() && !t.Idempotent {
		return contract.LookUp
	}
	return next
}
