#!/bin/bash
# Builds every peer, makes the corpora once (1.4 GB), runs the contestants, prints the tables, writes results.json and table.md.
#
#   benches/peers/run.sh [WORKDIR] [options of run.py]      WORKDIR: target/peers of this repository
#   benches/peers/run.sh --only none                        build and make the corpora, measure nothing
#   benches/peers/run.sh --only 'baseline,ours*' --corpus 'small-*'
#   benches/peers/run.sh --add mine='python3 benches/peers/python/callable.py mine.py:decode'
#
# Everything is built in a copy below WORKDIR, so that the sources stay clean. File names in --add are looked up from
# the directory in which this command was called. PEERS_PYTHON names the interpreter that has logsegment installed.
set -e
from=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$from/../.." && pwd)
to=$root/target/peers
case "${1:---}" in -*) ;; *) to=$1; shift ;; esac
for tool in java javac mvn cargo go python3; do
  command -v $tool >/dev/null || { echo "benches/peers needs $tool" >&2; exit 2; }
done
export PEERS_CALLED_FROM=$PWD
export PEERS_PYTHON=${PEERS_PYTHON:-$root/.venv/bin/python}
mkdir -p "$to"
cp -ru "$from"/. "$to"
cd "$to"
mkdir -p bin corpus java/classes

[ -d java/clients/lib ] || (cd java/clients && mvn -q -B dependency:copy-dependencies -DoutputDirectory="$PWD/lib")
if [ ! -f java/classes/KafkaClientsEncodePeer.class ] || [ -n "$(find java/src -newer java/classes/KafkaClientsEncodePeer.class)" ]; then
  javac -nowarn -cp 'java/clients/lib/*' -d java/classes java/src/*.java
fi
if [ ! -f venv/ready ]; then
  python3 -m venv venv
  venv/bin/pip install -q -r python/freeze.txt
  touch venv/ready
fi
(cd go && go build -o ../bin/ ./cmd/...)
if [ ! -d go-sarama/copy ]; then
  (cd go && cp -r "$(go mod download -json github.com/IBM/sarama@v1.61.1 | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')" ../go-sarama/copy)
  chmod -R u+w go-sarama/copy
fi
cp -u go-sarama/shim.go.txt go-sarama/copy/shim.go
(cd go-sarama && go build -o ../bin/sarama .)
if [ ! -d go-franz/copy ]; then
  (cd go && cp -r "$(go mod download -json github.com/twmb/franz-go@v1.22.2 | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')" ../go-franz/copy)
  chmod -R u+w go-franz/copy
fi
cp -u go-franz/shim.go.txt go-franz/copy/pkg/kgo/shim.go
(cd go-franz && go build -o ../bin/franz-encode .)
for crate in baseline peers; do
  (cd rust/$crate && cargo build -q --locked --release --target-dir target)
done
java -cp 'java/classes:java/clients/lib/*' GenCorpus corpus 2>/dev/null   # makes only what is missing
exec python3 run.py "$@"
