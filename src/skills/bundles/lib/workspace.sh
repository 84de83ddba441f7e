# shellcheck shell=bash
# Speaks to the workspace's API with bash and coreutils alone: plain HTTP to the sandbox's proxy, which knows whose
# sandbox this is. There is no key in here and none is needed. For the commands of the built-in skills.
set -u
LC_ALL=C # lengths are of bytes
scratch=
usage=${usage-}

fail() {
  printf '%s: %s\n' "${0##*/}" "$*" >&2
  exit 1
}

misused() {
  printf '%s: %s\n\n%s\n' "${0##*/}" "$1" "$usage" >&2
  exit 2
}

# A file that is gone when the command ends.
scratch_file() {
  if [[ -z $scratch ]]; then
    scratch=$(mktemp -d) || fail "there is no room for a temporary file"
    trap 'rm -rf "$scratch"' EXIT
  fi
  made=$scratch/$1
}

# "text" as JSON has it.
json_string() {
  local text=$1
  text=${text//\\/\\\\}
  text=${text//\"/\\\"}
  text=${text//$'\n'/\\n}
  text=${text//$'\r'/\\r}
  text=${text//$'\t'/\\t}
  printf '"%s"' "$text"
}

url_encoded() {
  local text=$1 out='' char i
  for ((i = 0; i < ${#text}; i++)); do
    char=${text:i:1}
    case $char in
      [A-Za-z0-9._~-]) out+=$char ;;
      *)
        printf -v char '%%%02X' "'$char"
        out+=${char/FFFFFFFFFFFFFF/}
        ;;
    esac
  done
  printf '%s' "$out"
}

# What a problem says, in words, each field that is wrong on a line of its own.
words_of() {
  local problem=$1 status=$2 text='(([^"\\]|\\.)*)' words
  if [[ $problem =~ \"detail\":\"$text\" ]]; then
    words=${BASH_REMATCH[1]}
  else
    words=${problem:-"the answer was $status"}
    words=${words//\\/\\\\}
  fi
  printf "%b\n" "${words//\\\"/\"}"
  while [[ $problem =~ \"pointer\":\"$text\",\"message\":\"$text\" ]]; do
    printf '  %b: %b\n' "${BASH_REMATCH[1]}" "${BASH_REMATCH[3]}"
    problem=${problem#*"${BASH_REMATCH[0]}"}
  done
}

# request METHOD PATH [FILE [TYPE]]: the body of the answer, if all went well. FILE is the request's body.
request() {
  local method=$1 path=$2 file=${3-} type=${4-application/json}
  [[ -n ${SLUICE_WORKSPACE_URL-} ]] || fail "this sandbox has no workspace: SLUICE_WORKSPACE_URL is not set"
  local proxy=${http_proxy-http://127.0.0.1:3128}
  proxy=${proxy#http://}
  proxy=${proxy%%/*}
  { exec 3<>"/dev/tcp/${proxy%:*}/${proxy##*:}"; } 2>/dev/null || fail "the sandbox's proxy at $proxy does not answer"
  # HTTP/1.0: an answer ends with its connection, so that there are no chunks to put together.
  {
    printf '%s %s%s HTTP/1.0\r\n' "$method" "$SLUICE_WORKSPACE_URL" "$path"
    printf 'Host: %s\r\n' "${SLUICE_WORKSPACE_URL#http://}"
    if [[ -n $file ]]; then
      printf 'Content-Type: %s\r\nContent-Length: %s\r\n\r\n' "$type" "$(wc -c <"$file")"
      cat "$file"
    else
      [[ $method == GET ]] || printf 'Content-Length: 0\r\n'
      printf '\r\n'
    fi
  } >&3 2>/dev/null # an answer may come before all was sent
  hear
}

hear() {
  local status='' line length=''
  IFS=' ' read -r _ status _ <&3 || fail "the workspace did not answer"
  while IFS= read -r line <&3; do
    line=${line%$'\r'}
    [[ -n $line ]] || break
    [[ ${line,,} == content-length:* ]] && length=${line#*:} && length=${length// /}
  done
  if [[ $status != 2* ]]; then
    fail "$(words_of "$(cat <&3)" "$status")"
  elif [[ -n $length ]]; then
    scratch_file answer
    head -c "$length" <&3 >"$made"
    [[ $(wc -c <"$made") -eq $length ]] || fail "the answer broke off"
    cat "$made"
  else
    cat <&3 || fail "the answer broke off"
  fi
  exec 3>&-
}

# send METHOD PATH JSON
send() {
  scratch_file request
  printf '%s' "$3" >"$made"
  request "$1" "$2" "$made"
}

# What an argument stands for: @FILE and - are read, anything else is it.
text_of() {
  case $1 in
    -) cat ;;
    @*) cat "${1#@}" || exit 1 ;;
    *) printf '%s' "$1" ;;
  esac
}

# id_of PATH PREFIX NAME: an id stays what it is, a name is looked up; the latest of that name counts.
id_of() {
  local path=$1 prefix=$2 name=$3 page cursor=''
  if [[ $name == "$prefix"_* && $name != *[!a-z0-9_]* ]]; then
    printf '%s' "$name"
    return
  fi
  local named
  named="\"name\":$(json_string "$name")"
  while true; do
    page=$(request GET "$path?limit=100${cursor:+&starting_after=$cursor}") || exit 1
    local object="\"id\":\"(${prefix}_[a-z0-9]+)\"[^{}]*"
    if [[ $page =~ $object"$named" ]]; then
      printf '%s' "${BASH_REMATCH[1]}"
      return
    fi
    [[ $page =~ \"next_cursor\":\"([a-z0-9_]+)\" ]] || fail "there is nothing called $name"
    cursor=${BASH_REMATCH[1]}
  done
}
