{{- /* The DaemonSet of objects/installer/daemonset.yaml with what the values change. */ -}}
{{- define "nodemaint.installer" -}}
{{- $values := .Values.installer -}}
{{- $set := .Files.Get "objects/installer/daemonset.yaml" | fromYaml -}}
{{- $pod := $set.spec.template.spec -}}
{{- $_ := set $set.spec.updateStrategy.rollingUpdate "maxUnavailable" (kindIs "string" $values.maxUnavailable | ternary $values.maxUnavailable (int $values.maxUnavailable)) -}}
{{- $install := first $pod.initContainers -}}
{{- if eq $values.action "uninstall" -}}
{{- $_ := set $install "args" (list "install-node" "--" "uninstall" "--when-idle") -}}
{{- end -}}
{{- $config := include "nodemaint.installerConfig" . | fromYaml -}}
{{- $_ := set $set.spec.template.metadata "annotations" (dict "nodemaintenance.x-k8s.io/config" (sha256sum (index $config.data "config.yaml"))) -}}
{{- with $values.extraArgs }}{{ $_ := set $install "args" (concat $install.args .) }}{{ end -}}
{{- include "nodemaint.pod" (dict "root" . "workload" $set "values" $values) -}}
{{ include "nodemaint.object" (dict "root" . "object" $set) }}
{{- end -}}

{{- /* The ConfigMap of objects/installer/config.yaml with the drop-in that the values make. */ -}}
{{- define "nodemaint.installerConfig" -}}
{{- $map := .Files.Get "objects/installer/config.yaml" | fromYaml -}}
{{- with .Values.installer.config -}}
{{- $head := dict "apiVersion" "agent.nodemaintenance.x-k8s.io/v1alpha1" "kind" "AgentConfiguration" -}}
{{- $_ := set $map.data "config.yaml" (toYaml (merge . $head) | printf "%s\n") -}}
{{- end -}}
{{ include "nodemaint.object" (dict "root" . "object" $map) }}
{{- end -}}
