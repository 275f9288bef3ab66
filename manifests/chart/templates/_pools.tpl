{{- /*
The installers of the values, as a list: one of all nodes that are in no pool, then one for each pool. Each has all values of
`installer`, changed by those of its pool, its name, and an affinity that excludes the nodes of the pools before it; the
first one, of all other nodes, excludes those of every pool. So no node is in two of them.
*/ -}}
{{- define "nodemaint.pools" -}}
{{- $common := omit .Values.installer "pools" -}}
{{- $pools := .Values.installer.pools | default list -}}
{{- $names := list -}}
{{- $before := list -}}
{{- $made := list -}}
{{- range $pool := $pools -}}
  {{- if has $pool.name $names }}{{ fail (printf "installer.pools: two pools have the name %s" $pool.name) }}{{ end -}}
  {{- $names = append $names $pool.name -}}
  {{- range $other := $before -}}
    {{- $isWhole := true -}}
    {{- range $key, $value := $other.nodeSelector -}}
      {{- if or (not (hasKey $pool.nodeSelector $key)) (ne (get $pool.nodeSelector $key) $value) }}{{ $isWhole = false }}{{ end -}}
    {{- end -}}
    {{- if $isWhole }}{{ fail (printf "installer.pools: %s has no nodes, because each of them is in the pool %s before it" $pool.name $other.name) }}{{ end -}}
  {{- end -}}
  {{- $selector := mergeOverwrite (deepCopy ($common.nodeSelector | default dict)) (deepCopy $pool.nodeSelector) -}}
  {{- $config := mergeOverwrite (deepCopy ($common.config | default dict)) (deepCopy ($pool.config | default dict)) -}}
  {{- $affinity := include "nodemaint.excluding" (dict "affinity" $common.affinity "selector" $pool.nodeSelector "pools" $before) | fromYaml -}}
  {{- $own := merge (dict "fullName" (printf "nodemaint-installer-%s" $pool.name) "nodeSelector" $selector "config" $config "affinity" $affinity) $pool -}}
  {{- range $key, $value := $common }}{{ if not (hasKey $own $key) }}{{ $_ := set $own $key $value }}{{ end }}{{ end -}}
  {{- $made = append $made $own -}}
  {{- $before = append $before $pool -}}
{{- end -}}
{{- $affinity := include "nodemaint.excluding" (dict "affinity" $common.affinity "selector" dict "pools" $before) | fromYaml -}}
{{- $rest := merge (dict "fullName" "nodemaint-installer" "affinity" $affinity) $common -}}
{{- toYaml (prepend $made $rest) -}}
{{- end -}}

{{- /*
An affinity (affinity) that also excludes the nodes of pools (pools), for nodes with the labels of a selector (selector). The
terms of a required node affinity are alternatives: a node is not in a pool of two labels if it has another value of the one
or of the other, so each alternative becomes two.
*/ -}}
{{- define "nodemaint.excluding" -}}
{{- $affinity := deepCopy (.affinity | default dict) -}}
{{- $selector := .selector -}}
{{- $required := dig "nodeAffinity" "requiredDuringSchedulingIgnoredDuringExecution" "nodeSelectorTerms" list $affinity -}}
{{- $terms := $required | default (list dict) -}}
{{- range $pool := .pools -}}
  {{- $isApart := false -}}
  {{- range $key, $value := $pool.nodeSelector -}}
    {{- if and (hasKey $selector $key) (ne (get $selector $key) $value) }}{{ $isApart = true }}{{ end -}}
  {{- end -}}
  {{- if $isApart }}{{ continue }}{{ end -}}
  {{- $alternatives := list -}}
  {{- range $term := $terms -}}
    {{- range $key, $value := $pool.nodeSelector -}}
      {{- $isNot := dict "key" $key "operator" "NotIn" "values" (list $value) -}}
      {{- $expressions := append ($term.matchExpressions | default list) $isNot -}}
      {{- $alternatives = append $alternatives (merge (dict "matchExpressions" $expressions) $term) -}}
    {{- end -}}
  {{- end -}}
  {{- $terms = $alternatives -}}
  {{- if gt (len $terms) 64 }}{{ fail "installer.pools: too many alternatives of labels; give each pool one label, the same one with another value" }}{{ end -}}
{{- end -}}
{{- if ne (toJson $terms) (toJson (list dict)) -}}
  {{- $node := $affinity.nodeAffinity | default dict -}}
  {{- $_ := set $node "requiredDuringSchedulingIgnoredDuringExecution" (dict "nodeSelectorTerms" $terms) -}}
  {{- $_ := set $affinity "nodeAffinity" $node -}}
{{- end -}}
{{- toYaml $affinity -}}
{{- end -}}
