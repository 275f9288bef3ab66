{{/* The DaemonSet of objects/installer/daemonset.yaml with what the values change. */}}
{{- define "nodemaint.installer" -}}
{{- $values := .Values.installer -}}
{{- $set := .Files.Get "objects/installer/daemonset.yaml" | fromYaml -}}
{{- $pod := $set.spec.template.spec -}}
{{- range $container := concat $pod.initContainers $pod.containers -}}
{{- $_ := set $container "image" (include "nodemaint.image" (dict "root" $ "image" $container.image)) -}}
{{- with $.Values.image.pullPolicy }}{{ $_ := set $container "imagePullPolicy" . }}{{ end -}}
{{- end -}}
{{- with .Values.imagePullSecrets }}{{ $_ := set $pod "imagePullSecrets" . }}{{ end -}}
{{- with $values.maxUnavailable }}{{ $_ := set $set.spec.updateStrategy.rollingUpdate "maxUnavailable" . }}{{ end -}}
{{- with $values.nodeSelector }}{{ $_ := set $pod "nodeSelector" (merge . $pod.nodeSelector) }}{{ end -}}
{{- with $values.tolerations }}{{ $_ := set $pod "tolerations" . }}{{ end -}}
{{- $install := first $pod.initContainers -}}
{{- if eq $values.action "uninstall" -}}
{{- $_ := set $install "args" (list "install-node" "--" "uninstall" "--when-idle") -}}
{{- end -}}
{{- with $values.extraArgs }}{{ $_ := set $install "args" (concat $install.args .) }}{{ end -}}
{{ toYaml $set }}
{{- end -}}
