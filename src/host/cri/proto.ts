/**
 * The part of the Container Runtime Interface that the agent uses: `runtime.v1` of k8s.io/cri-api 0.36, in the JSON form of
 * its .proto file. It is a constant, so that the bundle needs neither another file nor a .proto parser. Messages contain only
 * the fields that are needed, because protobuf skips unknown fields; field numbers never change.
 */
import { field, message, method, repeated, stringMap } from '../protobuf.ts';

const METHODS = ['Version', 'ListPodSandbox', 'StopPodSandbox', 'ListContainers', 'StopContainer'] as const;

/** The package `runtime.v1` for proto-loader's `fromJSON`. */
export function describeRuntimeV1(): object {
  return { nested: { runtime: { nested: { v1: { nested: { ...SERVICE, ...SANDBOXES, ...CONTAINERS } } } } } };
}

const SERVICE = {
  RuntimeService: { methods: Object.fromEntries(METHODS.map((name) => [name, method(name)])) },
  VersionRequest: message({ version: field('string', 1) }),
  VersionResponse: message({
    version: field('string', 1),
    runtimeName: field('string', 2),
    runtimeVersion: field('string', 3),
    runtimeApiVersion: field('string', 4),
  }),
};

const SANDBOXES = {
  PodSandboxState: { values: { SANDBOX_READY: 0, SANDBOX_NOTREADY: 1 } },
  PodSandboxStateValue: message({ state: field('PodSandboxState', 1) }),
  PodSandboxFilter: message({
    id: field('string', 1),
    state: field('PodSandboxStateValue', 2),
    labelSelector: stringMap(3),
  }),
  ListPodSandboxRequest: message({ filter: field('PodSandboxFilter', 1) }),
  ListPodSandboxResponse: message({ items: repeated('PodSandbox', 1) }),
  PodSandboxMetadata: message({
    name: field('string', 1),
    uid: field('string', 2),
    namespace: field('string', 3),
    attempt: field('uint32', 4),
  }),
  PodSandbox: message({
    id: field('string', 1),
    metadata: field('PodSandboxMetadata', 2),
    state: field('PodSandboxState', 3),
    createdAt: field('int64', 4),
    labels: stringMap(5),
    annotations: stringMap(6),
    runtimeHandler: field('string', 7),
  }),
  StopPodSandboxRequest: message({ podSandboxId: field('string', 1) }),
  StopPodSandboxResponse: message({}),
};

const CONTAINERS = {
  ContainerState: { values: { CONTAINER_CREATED: 0, CONTAINER_RUNNING: 1, CONTAINER_EXITED: 2, CONTAINER_UNKNOWN: 3 } },
  ContainerStateValue: message({ state: field('ContainerState', 1) }),
  ContainerFilter: message({
    id: field('string', 1),
    state: field('ContainerStateValue', 2),
    podSandboxId: field('string', 3),
    labelSelector: stringMap(4),
  }),
  ListContainersRequest: message({ filter: field('ContainerFilter', 1) }),
  ListContainersResponse: message({ containers: repeated('Container', 1) }),
  ContainerMetadata: message({ name: field('string', 1), attempt: field('uint32', 2) }),
  Container: message({
    id: field('string', 1),
    podSandboxId: field('string', 2),
    metadata: field('ContainerMetadata', 3),
    state: field('ContainerState', 6),
    createdAt: field('int64', 7),
    labels: stringMap(8),
    annotations: stringMap(9),
  }),
  StopContainerRequest: message({ containerId: field('string', 1), timeout: field('int64', 2) }),
  StopContainerResponse: message({}),
};
