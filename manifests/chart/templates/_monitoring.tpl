{{- /* The PodMonitor with the labels by which a Prometheus selects it, and its interval. */ -}}
{{- define "nodemaint.podMonitor" -}}
{{- $values := .Values.monitoring.podMonitor -}}
{{- $object := fromYaml (.Files.Get "objects/monitoring/pod-monitor.yaml") -}}
{{- $_ := set $object.metadata "labels" (merge (deepCopy $values.labels) $object.metadata.labels) -}}
{{- range $object.spec.podMetricsEndpoints }}{{ $_ := set . "interval" $values.interval }}{{ end -}}
{{ include "nodemaint.object" (dict "root" . "object" $object) }}
{{- end -}}

{{- /* The ScrapeConfig with the labels by which a Prometheus selects it, its interval, and the port of the agents. */ -}}
{{- define "nodemaint.scrapeConfig" -}}
{{- $values := .Values.monitoring.scrapeConfig -}}
{{- $object := fromYaml (.Files.Get "objects/monitoring/agents/scrape-config.yaml") -}}
{{- $_ := set $object.metadata "labels" (merge (deepCopy $values.labels) $object.metadata.labels) -}}
{{- $_ := set $object.spec "scrapeInterval" $values.interval -}}
{{- range $object.spec.relabelings -}}
  {{- if eq .targetLabel "__address__" }}{{ $_ := set . "replacement" (printf "$1:%d" (int $values.port)) }}{{ end -}}
{{- end -}}
{{ include "nodemaint.object" (dict "root" . "object" $object) }}
{{- end -}}

{{- /* The alerts with the labels, thresholds, times and the address of the runbook that the values give them. */ -}}
{{- define "nodemaint.rules" -}}
{{- $values := .Values.monitoring.rules -}}
{{- $object := fromYaml (.Files.Get "objects/monitoring/rules.yaml") -}}
{{- $_ := set $object.metadata "labels" (merge (deepCopy ($values.labels | default dict)) $object.metadata.labels) -}}
{{- /* A value that is null is one that is not there. */ -}}
{{- $disabled := $values.disabled | default list -}}
{{- $for := $values.for | default dict -}}
{{- $thresholds := $values.thresholds | default dict -}}
{{- $alertLabels := $values.alertLabels | default dict -}}
{{- $known := list -}}
{{- range $group := $object.spec.groups -}}
  {{- $rules := list -}}
  {{- range $rule := $group.rules -}}
    {{- $known = append $known $rule.alert -}}
    {{- if not (has $rule.alert $disabled) -}}
      {{- $_ := set $rule "labels" (merge (deepCopy $alertLabels) $rule.labels) -}}
      {{- if $values.runbookUrl -}}
        {{- $_ := set $rule.annotations "runbook_url" (printf "%s#%s" $values.runbookUrl (lower $rule.alert)) -}}
      {{- end -}}
      {{- with get $for $rule.alert }}{{ $_ := set $rule "for" . }}{{ end -}}
      {{- if hasKey $thresholds $rule.alert -}}
        {{- if not (regexMatch "[0-9]+$" $rule.expr) }}{{ fail (printf "monitoring.rules: the alert %s has no threshold" $rule.alert) }}{{ end -}}
        {{- $threshold := get $thresholds $rule.alert | int64 | toString -}}
        {{- $_ := set $rule "expr" (regexReplaceAll "[0-9]+$" $rule.expr $threshold) -}}
      {{- end -}}
      {{- $rules = append $rules $rule -}}
    {{- end -}}
  {{- end -}}
  {{- $_ := set $group "rules" $rules -}}
{{- end -}}
{{- range $name := concat $disabled (keys $for) (keys $thresholds) -}}
  {{- if not (has $name $known) }}{{ fail (printf "monitoring.rules: there is no alert %s" $name) }}{{ end -}}
{{- end -}}
{{ include "nodemaint.object" (dict "root" . "object" $object) }}
{{- end -}}

{{- /* The dashboard as a ConfigMap that Grafana's sidecar loads. */ -}}
{{- define "nodemaint.dashboard" -}}
{{- $values := .Values.monitoring.dashboard -}}
{{- $metadata := dict "name" "nodemaint-dashboard" "namespace" "nodemaint-system" "labels" (deepCopy $values.labels) -}}
{{- with $values.annotations }}{{ $_ := set $metadata "annotations" (deepCopy .) }}{{ end -}}
{{- $data := dict "dashboard.json" (.Files.Get "objects/monitoring/dashboard.json") -}}
{{ include "nodemaint.object" (dict "root" . "object" (dict "apiVersion" "v1" "kind" "ConfigMap" "metadata" $metadata "data" $data)) }}
{{- end -}}
