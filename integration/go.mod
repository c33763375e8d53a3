module github.com/idempact/idempact/integration

go 1.26.0

require (
	github.com/idempact/idempact v0.0.0
	github.com/stretchr/testify v1.12.1
	github.com/stripe/stripe-go/v85 v85.0.0
)

require (
	github.com/hashicorp/go-cleanhttp v0.5.2 // indirect
	github.com/hashicorp/go-retryablehttp v0.7.8 // indirect
	github.com/jarcoal/httpmock v1.4.2 // indirect
	github.com/stripe/stripe-go/v76 v76.25.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
)

replace github.com/idempact/idempact => ../
