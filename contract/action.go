package contract

import "context"

type actionContext struct{}

// WithAction returns a context that carries what the caller calls the operation
// ("pay invoice INV-7"), for the people who read the journal. It identifies
// nothing; put no personal data into it.
func WithAction(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, actionContext{}, name)
}

// ActionFrom returns the name that WithAction put into the context, "" if none.
func ActionFrom(ctx context.Context) string {
	name, _ := ctx.Value(actionContext{}).(string)
	return name
}
