#!/bin/sh
# Three servers on one PostgreSQL, all private to this script and gone with it. A client reads one answer; the server it
# reads from is killed with -9, the client reads on from the next one, and so on: to the end, without a lost line.
#
#   examples/three-nodes.sh [PATH_OF_SLUICE]
set -eu
sluice=$(realpath "${1:-$(dirname "$0")/../build/sluice}")
home=$(mktemp -d)
pids=""

finish() {
  # shellcheck disable=SC2086  # a list of words
  [ -z "$pids" ] || kill -9 $pids 2>/dev/null || true
  [ ! -f "$home/pg/postmaster.pid" ] || kill -QUIT "$(head -n 1 "$home/pg/postmaster.pid")" 2>/dev/null || true
  rm -rf "$home"
}
trap finish EXIT
trap 'exit 1' INT TERM

say() { printf '\n── %s\n' "$*"; }

# until_it_works COMMAND…: tries it for half a minute.
until_it_works() {
  tries=0
  until "$@" >/dev/null 2>&1; do
    tries=$((tries + 1))
    [ "$tries" -lt 150 ] || { echo "in vain: $*" >&2; exit 1; }
    sleep 0.2
  done
}

# ── the database: PostgreSQL refuses to be root ──
programs=$(find /usr/lib/postgresql/*/bin -maxdepth 0 | sort -V | tail -n 1)
as_owner=""
if [ "$(id -u)" -eq 0 ]; then
  chown postgres "$home"
  as_owner="setpriv --reuid postgres --regid postgres --clear-groups"
fi
chmod 755 "$home"
cd "$home"
say "PostgreSQL in $home"
$as_owner "$programs/initdb" -D "$home/pg" -U sluice -A trust --no-sync >initdb.log
$as_owner "$programs/postgres" -D "$home/pg" -k "$home" -c listen_addresses= >postgres.log 2>&1 &
until_it_works "$programs/psql" -h "$home" -U sluice -c "SELECT 1" postgres
store="postgresql://sluice@/postgres?host=$home"

# start_node N: its keys are those of the first, its port is written down.
start_node() {
  data=$home/node$1
  if [ ! -d "$data" ] && [ "$1" -gt 1 ]; then
    mkdir -m 700 "$data"
    cp "$home/node1/bootstrap.json" "$home/node1/vault.key" "$data"
  fi
  rm -f "$home/node$1.out"  # what it said when it was started before
  "$sluice" serve --data "$data" --store "$store" --listen 127.0.0.1:0 --node.name "node$1" --log.level warn \
    >"$home/node$1.out" 2>>"$home/node$1.log" &
  echo $! >"$home/node$1.pid"
  pids="$pids $!"
  until_it_works grep -q listening "$home/node$1.out"
  sed -n 's/.*listening on //p' "$home/node$1.out" >"$home/node$1.url"
  echo "node$1, process $(cat "$home/node$1.pid"), at $(cat "$home/node$1.url")"
}

say "three servers"
for node in 1 2 3; do start_node $node; done
key=$(sed -n 's/.*"service_key": *"\([^"]*\)".*/\1/p' "$home/node1/bootstrap.json")

# read_from NODE CURL_ARGUMENT…: appends the next lines that come to `told`, 60 at most, and hangs up.
read_from() {
  reader=$1
  shift
  curl -sSN --max-time 60 -H "Authorization: Bearer $key" -H "Content-Type: application/json" "$@" 2>/dev/null |
    head -n 60 | sed -n '/Z"}$/p' >>told || true
  echo "read through node$reader up to seq $(last_seq)"
}
url_of() { cat "$home/node$1.url"; }
last_seq() { sed -n '$s/.*"seq":\([0-9]*\).*/\1/p' told; }
is_over() { tail -n 1 told | grep -q '"type":"message_end"\|"type":"error"'; }

say "an answer of 160 words, 40 a second"
: >told
read_from 1 "$(url_of 1)/v1/conversations" -d '{"initial_message":{"content":"tokens 160 40"}}'
message=$(sed -n '1s/.*"message_id":"\([^"]*\)".*/\1/p' told)
node=1
until is_over; do
  echo "kill -9 node$node"
  kill -9 "$(cat "$home/node$node.pid")"
  next=$((node % 3 + 1))
  read_from "$next" "$(url_of "$next")/v1/messages/$message/events?after=$(last_seq)"
  start_node "$node"
  node=$next
done

say "what the client was told, and what the last server tells from the beginning"
curl -sS -H "Authorization: Bearer $key" "$(url_of "$node")/v1/messages/$message/events" >again
wc -l told again
cmp told again
tail -n 1 told | cut -c 1-120
grep -q '"type":"message_end"' told || { echo "the answer did not end as it should" >&2; exit 1; }
say "nothing was lost"
