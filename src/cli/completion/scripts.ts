/** The supported shells, and `kubectl`, whose plugins have a separate program for completion. */
export const SHELLS = ['bash', 'zsh', 'fish', 'kubectl'] as const;
export type Shell = (typeof SHELLS)[number];

const BASH = `# bash completion for nodemaint; load it with: source <(nodemaint completion bash)
_nodemaint() {
  local cur="\${COMP_WORDS[COMP_CWORD]}"
  local IFS=$'\\n'
  local found
  found=$(nodemaint __complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | grep -v '^:' | cut -f1)
  COMPREPLY=($(compgen -W "$found" -- "$cur"))
  [[ \${#COMPREPLY[@]} -gt 0 ]] || compopt -o default 2>/dev/null
}
complete -F _nodemaint nodemaint
`;

const ZSH = `#compdef nodemaint
# zsh completion for nodemaint; load it with: source <(nodemaint completion zsh)
_nodemaint() {
  local -a found
  local value about
  while IFS=$'\\t' read -r value about; do
    [[ "$value" == :* ]] && continue
    found+=("\${value//:/\\\\:}\${about:+:$about}")
  done < <(nodemaint __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)
  if (( \${#found} )); then _describe nodemaint found; else _files; fi
}
compdef _nodemaint nodemaint
`;

const FISH = `# fish completion for nodemaint; load it with: nodemaint completion fish | source
function __nodemaint_complete
  set -l words (commandline -opc) (commandline -ct)
  nodemaint __complete $words[2..-1] 2>/dev/null | string match -v ':*'
end
complete -c nodemaint -f -a '(__nodemaint_complete)'
`;

const KUBECTL = `#!/bin/sh
# Completion of "kubectl nodemaint"; put it into the PATH as kubectl_complete-nodemaint, executable.
exec kubectl-nodemaint __complete "$@"
`;

/** The script that a shell loads. */
export function completionScript(shell: Shell): string {
  return { bash: BASH, zsh: ZSH, fish: FISH, kubectl: KUBECTL }[shell];
}
