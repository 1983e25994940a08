# shellcheck shell=bash
# Completion of mount.gguf for bash, with the bash-completion package: options, mount options and
# their values, *.gguf files, directories.

# _mount_gguf_list SEPARATOR WORDS: completes what is behind the last separator in $cur.
_mount_gguf_list() {
  local before=
  if [[ $cur == *"$1"* ]]; then before=${cur%"$1"*}$1; fi
  mapfile -t COMPREPLY < <(compgen -P "$before" -W "$2" -- "${cur#"$before"}")
}

_mount_gguf_mount_options() {
  local before
  case ${cur##*,} in
  views=*)
    before=${cur%"${cur##*views=}"}
    cur=${cur#"$before"}
    _mount_gguf_list : 'README.txt summary.txt problems.txt metadata.json metadata metadata.raw
      tensors.tsv tensors.json tensors raw f32 f16 bf16 npy info layers export model.gguf
      model.f32.safetensors model.f16.safetensors model.bf16.safetensors'
    COMPREPLY=("${COMPREPLY[@]/#/$before}")
    cur=$before$cur
    ;;
  cache=*) _mount_gguf_list '=' 'auto always never' ;;
  sandbox=*) _mount_gguf_list '=' no ;;
  *)
    _mount_gguf_list , 'strict partial views= allow_other uid= gid= fmask= dmask= idle_timeout=
      cache= readahead= fsname= sandbox= noexec noatime'
    ;;
  esac
  compopt -o nospace
}

_mount_gguf_operand() {
  local i operands=0
  for ((i = 1; i < cword; i++)); do
    case ${words[i]} in
    -o | --print | --pidfile) ((i++)) ;;
    -*) ;;
    *) ((operands++)) ;;
    esac
  done
  case $operands in
  0) _filedir gguf ;;
  1) _filedir -d ;;
  esac
}

_mount_gguf() {
  local cur prev words cword
  _init_completion -n =: || return
  case $prev in
  -o) _mount_gguf_mount_options ;;
  --print)
    _mount_gguf_list $'\n' 'README.txt summary.txt problems.txt metadata.json metadata metadata.raw
      tensors.tsv tensors.json tensors layers export'
    ;;
  --pidfile) _filedir ;;
  *)
    if [[ $cur == -* ]]; then
      _mount_gguf_list $'\n' '-f -d -v -q -o -h -V --pidfile --print --help --version'
    else
      _mount_gguf_operand
    fi
    return
    ;;
  esac
  # Bash takes = and : for the ends of words, and replaces what is behind the last one only.
  local before=${cur%"${cur##*[=:]}"}
  COMPREPLY=("${COMPREPLY[@]#"$before"}")
}

complete -F _mount_gguf mount.gguf
