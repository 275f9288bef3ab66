import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';

/** How pods with a network of their own reach this machine, and with it the API server. */
export const HOST_FROM_PODS = '198.18.255.254';

/** The third number of the addresses of pods, where no node has its own: of the container's id. */
const ANY_SUBNET = '$(( 0x$(echo "$id" | cut -c1-2) % 250 + 1 ))';

/**
 * A CNI plugin (version 0.3.1): a veth pair for each pod, whose address comes from the container's id, and a route to it.
 * Pods reach this machine and are reached from it, and nothing else: no forwarding, no bridge, no NAT. Everything goes when
 * the pod's network namespace goes, that is at the latest when the node's processes end.
 */
const pluginOf = (subnet: string): string => `#!/bin/sh
set -e
config=$(cat)
answer='{"cniVersion":"0.3.1","interfaces":[],"ips":[]}'
inside() { nsenter --net="$CNI_NETNS" -- ip "$@"; }
case $CNI_COMMAND in
VERSION) echo '{"cniVersion":"0.3.1","supportedVersions":["0.3.0","0.3.1"]}' ;;
ADD)
  inside link set lo up
  case $config in *'"loopback"'*) echo "$answer"; exit 0 ;; esac
  id=$(echo "$CNI_CONTAINERID" | cut -c1-8)
  high=${subnet}
  low=$(( 0x$(echo "$id" | cut -c3-4) % 250 + 2 ))
  while [ -n "$(ip route show "198.18.$high.$low/32")" ]; do low=$(( low % 250 + 2 )); done
  address=198.18.$high.$low
  ip link add "nm$id" type veth peer name "$CNI_IFNAME" netns "$CNI_NETNS"
  ip address add ${HOST_FROM_PODS}/32 dev "nm$id"
  ip link set "nm$id" up
  ip route add "$address/32" dev "nm$id"
  inside address add "$address/32" dev "$CNI_IFNAME"
  inside link set "$CNI_IFNAME" up
  inside route add ${HOST_FROM_PODS}/32 dev "$CNI_IFNAME"
  inside route add default via ${HOST_FROM_PODS}
  echo '{"cniVersion":"0.3.1","interfaces":[{"name":"'$CNI_IFNAME'","sandbox":"'$CNI_NETNS'"}],"ips":[{"version":"4","address":"'$address'/32","interface":0}]}'
  ;;
DEL)
  case $config in *'"loopback"'*) exit 0 ;; esac
  ip link delete "nm$(echo "$CNI_CONTAINERID" | cut -c1-8)" 2>/dev/null || true
  ;;
esac
`;

/**
 * Writes the node's pod network, plugin and configuration, in `folder`; without one containerd, and so the node, is not ready.
 * The addresses of its pods are 198.18.`subnet`.x where the node has a subnet of its own.
 */
export async function writeNetwork(folder: string, subnet?: number): Promise<void> {
  const [programs, networks] = [path.join(folder, 'bin'), path.join(folder, 'net.d')];
  await mkdir(programs, { recursive: true });
  await mkdir(networks, { recursive: true });
  // containerd asks for a plugin of the name loopback whatever is configured.
  for (const name of ['loopback', 'nodemaint-veth'])
    await writeFile(path.join(programs, name), pluginOf(subnet === undefined ? ANY_SUBNET : String(subnet)), {
      mode: 0o755,
    });
  const network = { cniVersion: '0.3.1', name: 'pods', plugins: [{ type: 'nodemaint-veth' }] };
  await writeFile(path.join(networks, '99-pods.conflist'), JSON.stringify(network));
}
