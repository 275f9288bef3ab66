{{/* The Deployment of objects/controller/deployment.yaml with what the values change. */}}
{{- define "nodemaint.deployment" -}}
{{- $values := .Values.controller -}}
{{- $deployment := .Files.Get "objects/controller/deployment.yaml" | fromYaml -}}
{{- $pod := $deployment.spec.template.spec -}}
{{- $container := first $pod.containers -}}
{{- if not (kindIs "invalid" $values.replicas) }}{{ $_ := set $deployment.spec "replicas" (int $values.replicas) }}{{ end -}}
{{- $_ := set $container "image" (include "nodemaint.image" (dict "root" . "image" $container.image)) -}}
{{- with .Values.image.pullPolicy }}{{ $_ := set $container "imagePullPolicy" . }}{{ end -}}
{{- with .Values.imagePullSecrets }}{{ $_ := set $pod "imagePullSecrets" . }}{{ end -}}
{{- if not .Values.webhook.enabled -}}
{{- $_ := set $container "args" (without $container.args "--webhook-port=9443") -}}
{{- end -}}
{{- with $values.extraArgs }}{{ $_ := set $container "args" (concat $container.args .) }}{{ end -}}
{{- with $values.extraEnv }}{{ $_ := set $container "env" (concat $container.env .) }}{{ end -}}
{{- with $values.resources }}{{ $_ := mergeOverwrite $container.resources . }}{{ end -}}
{{- with $values.priorityClassName }}{{ $_ := set $pod "priorityClassName" . }}{{ end -}}
{{- with $values.tolerations }}{{ $_ := set $pod "tolerations" . }}{{ end -}}
{{- with $values.nodeSelector }}{{ $_ := set $pod "nodeSelector" . }}{{ end -}}
{{- if $values.requireControlPlaneNodes -}}
{{- $preferred := first $pod.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution -}}
{{- $required := dict "nodeSelectorTerms" (list $preferred.preference) -}}
{{- $_ := set $pod "affinity" (dict "nodeAffinity" (dict "requiredDuringSchedulingIgnoredDuringExecution" $required)) -}}
{{- end -}}
{{ toYaml $deployment }}
{{- end -}}

{{/* The Deployment of an add-on, objects/FOLDER/deployment.yaml, with what its values change; needs root, folder, values. */}}
{{- define "nodemaint.addon" -}}
{{- $root := .root -}}
{{- $deployment := $root.Files.Get (printf "objects/%s/deployment.yaml" .folder) | fromYaml -}}
{{- $pod := $deployment.spec.template.spec -}}
{{- $container := first $pod.containers -}}
{{- $_ := set $container "image" (include "nodemaint.image" (dict "root" $root "image" $container.image)) -}}
{{- with $root.Values.image.pullPolicy }}{{ $_ := set $container "imagePullPolicy" . }}{{ end -}}
{{- with $root.Values.imagePullSecrets }}{{ $_ := set $pod "imagePullSecrets" . }}{{ end -}}
{{- with .values.extraArgs }}{{ $_ := set $container "args" (concat $container.args .) }}{{ end -}}
{{- with .values.resources }}{{ $_ := mergeOverwrite $container.resources . }}{{ end -}}
{{ toYaml $deployment }}
{{- end -}}

{{/* The image of an object (REPOSITORY:TAG) with what the values change. */}}
{{- define "nodemaint.image" -}}
{{- $image := .root.Values.image -}}
{{- $parts := splitList ":" .image -}}
{{- $repository := $image.repository | default (initial $parts | join ":") -}}
{{- if $image.digest -}}
{{ $repository }}@{{ $image.digest }}
{{- else -}}
{{ $repository }}:{{ $image.tag | default (last $parts) }}
{{- end -}}
{{- end -}}
