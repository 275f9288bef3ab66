// The custom resources of others that the chart has objects of, as their modules have them; no program of these is built.
module nodemaint.test/crds

go 1.26.0

require (
	github.com/cert-manager/cert-manager v1.21.2
	github.com/prometheus-operator/prometheus-operator v0.85.0
)
