/** The names of this program's own responders, in both dialects. */
import { DAEMON_SET_RESPONDER, IMPERATIVE_RESPONDER, STATIC_POD_RESPONDER_END } from '../../api/lifecycle.ts';
import { DAEMON_SET_INTERCEPTOR, IMPERATIVE_INTERCEPTOR, KUBELET_INTERCEPTOR } from '../../api/names.ts';

/** The policy of responders registers none for a longer name of a node: the name of a domain is limited. */
const MAX_NODE_NAME = 200;

/** The responder of the static pods of a node, which is its agent; undefined where the name of the node is too long for one. */
export function staticPodResponder(nodeName: string): string | undefined {
  return nodeName === '' || nodeName.length > MAX_NODE_NAME ? undefined : `${nodeName}${STATIC_POD_RESPONDER_END}`;
}

/** The name that the engine has for a responder. */
export function interceptorName(responder: string): string {
  if (responder === IMPERATIVE_RESPONDER) return IMPERATIVE_INTERCEPTOR;
  if (responder === DAEMON_SET_RESPONDER) return DAEMON_SET_INTERCEPTOR;
  return responder.endsWith(STATIC_POD_RESPONDER_END) ? KUBELET_INTERCEPTOR : responder;
}

/** Whether this program answers as the responder. */
export function isOwnResponder(responder: string): boolean {
  return interceptorName(responder) !== responder;
}
