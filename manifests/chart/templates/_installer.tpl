{{- /* The DaemonSet of objects/installer/daemonset.yaml with what the values of a pool change; needs root, pool. */ -}}
{{- define "nodemaint.installer" -}}
{{- $values := .pool -}}
{{- $set := .root.Files.Get "objects/installer/daemonset.yaml" | fromYaml -}}
{{- $template := $set.spec.template -}}
{{- $pod := $template.spec -}}
{{- $_ := set $set.metadata "name" $values.fullName -}}
{{- range $labels := list $set.metadata.labels $set.spec.selector.matchLabels $template.metadata.labels -}}
  {{- $_ := set $labels "app.kubernetes.io/name" $values.fullName -}}
{{- end -}}
{{- range $volume := $pod.volumes }}{{ with $volume.configMap }}{{ $_ := set . "name" $values.fullName }}{{ end }}{{ end -}}
{{- $_ := set $set.spec.updateStrategy.rollingUpdate "maxUnavailable" (kindIs "string" $values.maxUnavailable | ternary $values.maxUnavailable (int $values.maxUnavailable)) -}}
{{- $install := first $pod.initContainers -}}
{{- if eq $values.action "uninstall" -}}
{{- $_ := set $install "args" (list "install-node" "--" "uninstall" "--when-idle") -}}
{{- end -}}
{{- $config := include "nodemaint.installerConfig" . | fromYaml -}}
{{- $_ := set $template.metadata "annotations" (dict "nodemaintenance.x-k8s.io/config" (sha256sum (index $config.data "config.yaml"))) -}}
{{- with $values.extraArgs }}{{ $_ := set $install "args" (concat $install.args .) }}{{ end -}}
{{- include "nodemaint.pod" (dict "root" .root "workload" $set "values" $values) -}}
{{- with $values.pauseImage -}}
  {{- $done := first $pod.containers -}}
  {{- $_ := set $done "image" . -}}
  {{- $_ := unset $done "command" -}}
  {{- $_ := unset $done "args" -}}
  {{- $_ := set $done "resources" (dict "requests" (dict "cpu" "1m" "memory" "2Mi") "limits" (dict "memory" "16Mi")) -}}
{{- end -}}
{{ include "nodemaint.object" (dict "root" .root "object" $set) }}
{{- end -}}

{{- /* The ConfigMap of objects/installer/config.yaml with the drop-in that the values of a pool make; needs root, pool. */ -}}
{{- define "nodemaint.installerConfig" -}}
{{- $map := .root.Files.Get "objects/installer/config.yaml" | fromYaml -}}
{{- $_ := set $map.metadata "name" .pool.fullName -}}
{{- with .pool.config -}}
{{- $head := dict "apiVersion" "agent.nodemaintenance.x-k8s.io/v1alpha1" "kind" "AgentConfiguration" -}}
{{- $_ := set $map.data "config.yaml" (toYaml (mergeOverwrite $head (deepCopy .)) | printf "%s\n") -}}
{{- end -}}
{{ include "nodemaint.object" (dict "root" .root "object" $map) }}
{{- end -}}
