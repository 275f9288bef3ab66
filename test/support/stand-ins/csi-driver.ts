/**
 * A CSI driver that the real kubelet calls over gRPC: `csi.v1` and `pluginregistration`, with the fields that are used. Its
 * volumes are directories. It does nothing to them when it stages and unstages, but takes its time, and notes what it did.
 */
import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { callbackify } from 'node:util';
import { type handleUnaryCall, Server, ServerCredentials, type ServiceDefinition } from '@grpc/grpc-js';
import { fromJSON } from '@grpc/proto-loader';

const OPTIONS = { keepCase: true, enums: String, defaults: true };

interface Field {
  readonly type: string;
  readonly id: number;
  readonly rule?: 'repeated';
}

function message(fields: Readonly<Record<string, Field>> = {}): object {
  return { fields };
}

const text = (id: number): Field => ({ type: 'string', id });

const VOLUME = message({ volume_id: text(1), staging_target_path: text(3), target_path: text(4) });
const CSI = {
  Identity: {
    methods: {
      GetPluginInfo: { requestType: 'Nothing', responseType: 'PluginInfo' },
      GetPluginCapabilities: { requestType: 'Nothing', responseType: 'Nothing' },
      Probe: { requestType: 'Nothing', responseType: 'Nothing' },
    },
  },
  Node: {
    methods: {
      NodeGetInfo: { requestType: 'Nothing', responseType: 'NodeInfo' },
      NodeGetCapabilities: { requestType: 'Nothing', responseType: 'Capabilities' },
      NodeStageVolume: { requestType: 'Volume', responseType: 'Nothing' },
      NodePublishVolume: { requestType: 'Volume', responseType: 'Nothing' },
      NodeUnpublishVolume: { requestType: 'OldVolume', responseType: 'Nothing' },
      NodeUnstageVolume: { requestType: 'OldVolume', responseType: 'Nothing' },
    },
  },
  Nothing: message(),
  PluginInfo: message({ name: text(1), vendor_version: text(2) }),
  NodeInfo: message({ node_id: text(1) }),
  RpcType: { values: { UNKNOWN: 0, STAGE_UNSTAGE_VOLUME: 1 } },
  Rpc: message({ type: { type: 'RpcType', id: 1 } }),
  Capability: message({ rpc: { type: 'Rpc', id: 1 } }),
  Capabilities: message({ capabilities: { rule: 'repeated', type: 'Capability', id: 1 } }),
  Volume: VOLUME,
  OldVolume: message({ volume_id: text(1), target_path: text(2) }),
};
const REGISTRATION = {
  Registration: {
    methods: {
      GetInfo: { requestType: 'InfoRequest', responseType: 'PluginInfo' },
      NotifyRegistrationStatus: { requestType: 'RegistrationStatus', responseType: 'RegistrationStatusResponse' },
    },
  },
  InfoRequest: message(),
  PluginInfo: message({
    type: text(1),
    name: text(2),
    endpoint: text(3),
    supported_versions: { rule: 'repeated', type: 'string', id: 4 },
  }),
  RegistrationStatus: message({ plugin_registered: { type: 'bool', id: 1 }, error: text(2) }),
  RegistrationStatusResponse: message(),
};

interface VolumeCall {
  readonly volume_id: string;
  readonly target_path: string;
}

/** What a test decides. */
export interface CsiDriverSettings {
  readonly name: string;
  readonly nodeName: string;
  /** The root directory of the kubelet. */
  readonly rootDir: string;
  /** Notes what the driver has done, such as `unstaged VOLUME`. */
  readonly note: (what: string) => Promise<void>;
  /** Resolves when a volume may be unstaged. */
  readonly beforeUnstage: () => Promise<void>;
}

/** A unary method by what it answers. */
function answering<Request>(answer: (request: Request) => object | Promise<object>): handleUnaryCall<Request, object> {
  const run = callbackify(async (request: Request): Promise<object> => await answer(request));
  return (call, done) => {
    run(call.request, (error, value) => done(error instanceof Error ? { details: error.message } : null, value));
  };
}

const nothing = answering(() => ({}));

async function listen(server: Server, socket: string): Promise<void> {
  await mkdir(path.dirname(socket), { recursive: true });
  await new Promise<void>((resolve, reject) => {
    server.bindAsync(`unix://${socket}`, ServerCredentials.createInsecure(), (error) => {
      if (error === null) resolve();
      else reject(error);
    });
  });
}

/** Starts the driver, and registers it with the kubelet. */
export async function startCsiDriver(settings: CsiDriverSettings): Promise<AsyncDisposable> {
  const { name, nodeName, rootDir, note, beforeUnstage } = settings;
  const csi = fromJSON({ nested: { csi: { nested: { v1: { nested: CSI } } } } }, OPTIONS);
  const registration = fromJSON({ nested: { pluginregistration: { nested: REGISTRATION } } }, OPTIONS);
  const endpoint = path.join(rootDir, 'plugins', name, 'csi.sock');
  const driver = new Server();
  driver.addService(csi['csi.v1.Identity'] as ServiceDefinition, {
    GetPluginInfo: answering(() => ({ name, vendor_version: '1' })),
    GetPluginCapabilities: nothing,
    Probe: nothing,
  });
  driver.addService(csi['csi.v1.Node'] as ServiceDefinition, {
    NodeGetInfo: answering(() => ({ node_id: nodeName })),
    NodeGetCapabilities: answering(() => ({ capabilities: [{ rpc: { type: 'STAGE_UNSTAGE_VOLUME' } }] })),
    NodeStageVolume: nothing,
    NodePublishVolume: answering<VolumeCall>(async ({ target_path: target }) => {
      await mkdir(target, { recursive: true });
      return {};
    }),
    NodeUnpublishVolume: answering<VolumeCall>(async ({ target_path: target }) => {
      await rm(target, { recursive: true, force: true });
      return {};
    }),
    NodeUnstageVolume: answering<VolumeCall>(async ({ volume_id: volume }) => {
      await beforeUnstage();
      await note(`unstaged ${volume}`);
      return {};
    }),
  });
  const registrar = new Server();
  registrar.addService(registration['pluginregistration.Registration'] as ServiceDefinition, {
    GetInfo: answering(() => ({ type: 'CSIPlugin', name, endpoint, supported_versions: ['1.0.0'] })),
    NotifyRegistrationStatus: nothing,
  });
  await listen(driver, endpoint);
  await listen(registrar, path.join(rootDir, 'plugins_registry', `${name}-reg.sock`));
  return {
    [Symbol.asyncDispose]: () => {
      for (const server of [driver, registrar]) server.forceShutdown();
      return Promise.resolve();
    },
  };
}
