/** The address of the Service "kubernetes", at which the programs of pods look for the API server. */
const ADDRESS = '10.96.0.1';

/**
 * Units of systemd that make a node answer at that address and pass everything on to the API server, which is at
 * HOST:PORT, in the place of kube-proxy; by the names of their files. The socket is what has to be started.
 */
export function kubernetesServiceUnits(apiServer: string): Readonly<Record<string, string>> {
  return {
    // It is there for as long as there are pods.
    'kubernetes-service.socket': `[Unit]
Before=containerd.service
[Socket]
ExecStartPre=/usr/bin/ip address replace ${ADDRESS}/32 dev lo
ListenStream=${ADDRESS}:443
FreeBind=yes
[Install]
WantedBy=sockets.target
`,
    'kubernetes-service.service': `[Service]
ExecStart=/usr/lib/systemd/systemd-socket-proxyd ${apiServer}
`,
  };
}
