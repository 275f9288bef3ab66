{{- /* Changes the pods of a workload by the values of its component, which may have an image of its own; needs root, workload, values. */ -}}
{{- define "nodemaint.pod" -}}
{{- $root := .root -}}
{{- $values := .values -}}
{{- $template := .workload.spec.template -}}
{{- $pod := $template.spec -}}
{{- range $container := concat (default list $pod.initContainers) $pod.containers -}}
  {{- $_ := set $container "image" (include "nodemaint.image" (dict "root" $root "image" $values.image)) -}}
  {{- $_ := set $container "imagePullPolicy" $root.Values.image.pullPolicy -}}
{{- end -}}
{{- with $root.Values.imagePullSecrets }}{{ $_ := set $pod "imagePullSecrets" . }}{{ end -}}
{{- range $key := list "affinity" "tolerations" "nodeSelector" "topologySpreadConstraints" "priorityClassName" "dnsPolicy" -}}
  {{- $value := get $values $key -}}
  {{- if $value }}{{ $_ := set $pod $key $value }}{{ else }}{{ $_ := unset $pod $key }}{{ end -}}
{{- end -}}
{{- $labels := merge (deepCopy $template.metadata.labels) (dict "app.kubernetes.io/part-of" "nodemaint") $values.podLabels $root.Values.commonLabels -}}
{{- $_ := set $template.metadata "labels" $labels -}}
{{- with $values.podAnnotations }}{{ $_ := set $template.metadata "annotations" (merge (default dict $template.metadata.annotations) .) }}{{ end -}}
{{- end -}}

{{- /* Changes the one container of a Deployment by the values of its component; needs container, values. */ -}}
{{- define "nodemaint.container" -}}
{{- $values := .values -}}
{{- $container := .container -}}
{{- if ne $values.logLevel "info" }}{{ $_ := set $container "args" (append $container.args (printf "--log-level=%s" $values.logLevel)) }}{{ end -}}
{{- with $values.logFormat }}{{ $_ := set $container "args" (append $container.args (printf "--log-format=%s" .)) }}{{ end -}}
{{- with $values.extraArgs }}{{ $_ := set $container "args" (concat $container.args .) }}{{ end -}}
{{- with $values.extraEnv }}{{ $_ := set $container "env" (concat (default list $container.env) .) }}{{ end -}}
{{- $_ := set $container "resources" $values.resources -}}
{{- end -}}

{{- /* The Deployment of objects/controller/deployment.yaml with what the values change. */ -}}
{{- define "nodemaint.deployment" -}}
{{- $values := .Values.controller -}}
{{- $deployment := .Files.Get "objects/controller/deployment.yaml" | fromYaml -}}
{{- $pod := $deployment.spec.template.spec -}}
{{- $container := first $pod.containers -}}
{{- $preferred := first $pod.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution -}}
{{- $_ := set $deployment.spec "replicas" (int $values.replicas) -}}
{{- $args := list "controller" (printf "--metrics-address=:%d" (int $values.metricsPort)) -}}
{{- if .Values.webhook.enabled }}{{ $args = append $args (printf "--webhook-port=%d" (int .Values.webhook.port)) }}{{ end -}}
{{- if and .Values.webhook.enabled (ne .Values.webhook.certificate "self") }}{{ $args = append $args "--webhook-certificate=secret" }}{{ end -}}
{{- $_ := set $container "args" $args -}}
{{- $ports := dict "metrics" $values.metricsPort "webhook" .Values.webhook.port -}}
{{- range $port := $container.ports }}{{ $_ := set $port "containerPort" (get $ports $port.name | int) }}{{ end -}}
{{- include "nodemaint.container" (dict "container" $container "values" $values) -}}
{{- include "nodemaint.pod" (dict "root" . "workload" $deployment "values" $values) -}}
{{- if $values.requireControlPlaneNodes -}}
  {{- $required := dict "nodeSelectorTerms" (list $preferred.preference) -}}
  {{- $affinity := default dict $pod.affinity -}}
  {{- $_ := set $affinity "nodeAffinity" (dict "requiredDuringSchedulingIgnoredDuringExecution" $required) -}}
  {{- $_ := set $pod "affinity" $affinity -}}
{{- end -}}
{{- if $values.hostNetwork -}}
  {{- $_ := set $pod "hostNetwork" true -}}
  {{- if not $values.dnsPolicy }}{{ $_ := set $pod "dnsPolicy" "ClusterFirstWithHostNet" }}{{ end -}}
  {{- /* Two replicas cannot have the same port of one node: a new one comes when an old one has gone. */ -}}
  {{- $_ := set $deployment.spec "strategy" (dict "type" "RollingUpdate" "rollingUpdate" (dict "maxSurge" 0 "maxUnavailable" 1)) -}}
{{- end -}}
{{ include "nodemaint.object" (dict "root" . "object" $deployment) }}
{{- end -}}

{{- /* The image of an object (REPOSITORY:TAG) with what the values change; needs root, and may have an image that changes it again. */ -}}
{{- define "nodemaint.image" -}}
{{- $image := .root.Values.image -}}
{{- /* A tag alone takes the place of a digest that all others have. */ -}}
{{- with .image }}{{ $image = dict "repository" (.repository | default $image.repository) "tag" .tag "digest" .digest }}{{ end -}}
{{- $repository := required "image.repository is not set: copy the image into your registry, and set image.repository to its place there; localhost/nodemaint is right where each node has the image already" $image.repository -}}
{{- if $image.digest -}}
{{ $repository }}@{{ $image.digest }}
{{- else -}}
{{ $repository }}:{{ $image.tag | default .root.Chart.AppVersion }}
{{- end -}}
{{- end -}}
