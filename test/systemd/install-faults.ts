/** Builds of the agent with a fault, in a checkout of their own, for tests of install.sh. */

import { CHECKOUT } from './container.ts';

/** The program of that checkout, /root/next. */
export const BUNDLE = '/root/next/dist/nodemaint.cjs';

/** A fault of a build: how to make it, and what install.sh says of it. */
export interface Fault {
  readonly name: string;
  readonly make: string;
  readonly says: RegExp;
  /** Whether it is found before anything is touched. */
  readonly before: boolean;
}

/** All of them. */
export const FAULTS: readonly Fault[] = [
  {
    name: 'a program that does not start',
    make: `echo 'throw new Error("broken build")' > ${BUNDLE}`,
    says: /broken build[^]*new program does not run on this machine; nothing was changed/,
    before: true,
  },
  {
    name: 'a Node.js of a checkout that is not the pinned one',
    make: `mkdir -p /root/next/.ci/pins && sed 's/^[0-9a-f]*  /${'0'.repeat(64)}  /' ${CHECKOUT}/.ci/pins/node.sha256 > /root/next/.ci/pins/node.sha256`,
    says: /bin\/node is not the Node\.js that \/root\/next\/\.ci\/pins\/node\.sha256 names; .*nothing was changed/,
    before: true,
  },
  {
    name: 'a lock holder that this machine cannot run',
    make: `sed -i '1s,.*,#!/usr/bin/nothing,' /root/next/systemd/libexec/lock-holder`,
    says: /new lock holder does not run on this machine; nothing was changed \(it needs: #!\/usr\/bin\/nothing\)/,
    before: true,
  },
  {
    name: 'a program that takes the configuration for invalid',
    make: `sed -i '1a if (process.argv[2] === "config") { console.error("key gone"); process.exit(2); }' ${BUNDLE}`,
    says: /key gone[^]*would not start with this configuration; nothing was changed/,
    before: true,
  },
  {
    name: 'an agent that says that it is ready, and never holds the lock',
    make: `sed -i '1a if (process.argv[2] === "agent") { require("child_process").execSync("systemd-notify --ready"); setInterval(() => {}, 1000); return; }' ${BUNDLE}
sed -i 's/^up_sec=.*/up_sec=20/' /root/next/install.sh`,
    says: /does not hold the lock after 20 s[^]*earlier installation .* runs again/,
    before: false,
  },
  {
    name: 'a lock holder that ends at once',
    make: `sed -i '2i [ "$NODEMAINT_DEAD_MAN_SEC" = 0 ] || exit 1' /root/next/systemd/libexec/lock-holder
sed -i 's/^up_sec=.*/up_sec=20/' /root/next/install.sh`,
    says: /(does not hold the lock after 20 s|holder of its lock, ended again)[^]*earlier installation .* runs again/,
    before: false,
  },
];
