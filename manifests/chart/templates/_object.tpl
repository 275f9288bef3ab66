{{- /* The labels of every object; those of the object itself take precedence. */ -}}
{{- define "nodemaint.labels" -}}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service | quote }}
app.kubernetes.io/part-of: nodemaint
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | quote }}
{{- end -}}

{{- /* An object with the labels and annotations that all get, as YAML; needs root, object. */ -}}
{{- define "nodemaint.object" -}}
{{- $metadata := .object.metadata -}}
{{- $labels := include "nodemaint.labels" .root | fromYaml -}}
{{- $_ := set $metadata "labels" (merge (default dict $metadata.labels) $labels .root.Values.commonLabels) -}}
{{- with merge (default dict $metadata.annotations) .root.Values.commonAnnotations }}{{ $_ := set $metadata "annotations" . }}{{ end -}}
{{ toYaml .object }}
{{- end -}}

{{- /* An object of objects/ with what the values change in objects of its kind, as YAML; needs root, object, folder. */ -}}
{{- define "nodemaint.adapted" -}}
{{- $object := .object -}}
{{- $values := .root.Values -}}
{{- $metadata := $object.metadata -}}
{{- if eq $object.kind "CustomResourceDefinition" -}}
  {{- if $values.crds.keep }}{{ $_ := set $metadata "annotations" (merge (dict "helm.sh/resource-policy" "keep") (default dict $metadata.annotations)) }}{{ end -}}
{{- else if eq $object.kind "Namespace" -}}
  {{- $_ := set $metadata "labels" (eq .folder "installer" | ternary $values.installer.namespaceLabels $values.namespace.labels | default dict | deepCopy) -}}
{{- else if eq $object.kind "ServiceAccount" -}}
  {{- if eq $metadata.name "nodemaint-controller" }}{{ with $values.controller.serviceAccount.annotations }}{{ $_ := set $metadata "annotations" (deepCopy .) }}{{ end }}{{ end -}}
{{- else if eq $object.kind "NetworkPolicy" -}}
  {{- $ports := dict "8080" $values.controller.metricsPort "9443" $values.webhook.port -}}
  {{- range $rule := $object.spec.ingress }}{{ range $port := $rule.ports }}{{ $_ := set $port "port" (get $ports (toString $port.port) | int) }}{{ end }}{{ end -}}
  {{- with $values.networkPolicy.egress -}}
    {{- $_ := set $object.spec "policyTypes" (append $object.spec.policyTypes "Egress") -}}
    {{- $_ := set $object.spec "egress" . -}}
  {{- end -}}
{{- else if and (eq $object.kind "Service") (eq .folder "webhook") -}}
  {{- range $port := $object.spec.ports }}{{ $_ := set $port "targetPort" (int $values.webhook.port) }}{{ end -}}
{{- else if eq $object.kind "ValidatingWebhookConfiguration" -}}
  {{- if eq $values.webhook.certificate "cert-manager" -}}
    {{- $_ := set $metadata "annotations" (merge (dict "cert-manager.io/inject-ca-from" "nodemaint-system/nodemaint-webhook") (default dict $metadata.annotations)) -}}
  {{- else if eq $values.webhook.certificate "secret" -}}
    {{- $bundle := required "webhook.certificate=secret needs webhook.caBundle, the authority that API servers trust" $values.webhook.caBundle -}}
    {{- range $webhook := $object.webhooks }}{{ $_ := set $webhook.clientConfig "caBundle" $bundle }}{{ end -}}
  {{- end -}}
{{- end -}}
{{ include "nodemaint.object" (dict "root" .root "object" $object) }}
{{- end -}}

{{- /* A file of objects/ with one object, with what the values change, as YAML; needs root, path. */ -}}
{{- define "nodemaint.file" -}}
{{- $object := .root.Files.Get .path | fromYaml -}}
{{ include "nodemaint.adapted" (dict "root" .root "object" $object "folder" (dir .path | trimPrefix "objects/")) }}
{{- end -}}
