# Ends when the Ray of this Pod's leader is healthy, with exit code 1 when it is not after 60 tries.
address="$LEADER_HOST:$LEADER_PORT"
try=1
while [ "$try" -le 60 ]; do
  if [ $((try % 6)) -eq 1 ]; then
    echo "waiting for Ray at $address (try $try of 60)"
  fi
  if ray health-check --address "$address" > /dev/null 2>&1; then
    echo "Ray at $address is healthy"
    exit 0
  fi
  try=$((try + 1))
  sleep 5
done
echo "Ray at $address was not healthy within 300 s" >&2
exit 1
