/** What each file of values changes in the objects of the chart. */

const CONTROLLER = 'Deployment nodemaint-system/nodemaint-controller';
const INSTALLER = 'DaemonSet nodemaint-installer/nodemaint-installer';
const CONFIGURATION = 'ValidatingWebhookConfiguration /nodemaint-webhook';
const RULES = 'PrometheusRule nodemaint-system/nodemaint';

/** A file of values, and for objects what is then in their JSON, whose keys are sorted, or undefined where they are gone. */
interface ValueCase {
  readonly file: string;
  readonly changes: Readonly<Record<string, RegExp | undefined>>;
}

/** All files but minimal.yaml. */
export const VALUE_CASES: readonly ValueCase[] = [
  {
    file: 'registry.yaml',
    changes: {
      [CONTROLLER]:
        /"labels":\{[^}]*"cost-center":"4711"[^}]*\}\},"spec":\{"affinity"[^]*"image":"registry\.example\.com:5000\/nodemaint@sha256:0{64}","imagePullPolicy":"Always"[^]*"imagePullSecrets":\[\{"name":"registry"\}\]/,
      'Job nodemaint-system/nodemaint-test': /"imagePullSecrets":\[\{"name":"registry"\}\]/,
    },
  },
  {
    file: 'replicas.yaml',
    changes: {
      [CONTROLLER]:
        /"replicas":3[^]*"sidecar\.istio\.io\/inject":"false"[^]*"team":"platform"[^]*"affinity":\{"podAntiAffinity"[^]*"topologySpreadConstraints":\[\{[^[]*"whenUnsatisfiable":"DoNotSchedule"\}\]/,
      'PodDisruptionBudget nodemaint-system/nodemaint-controller-replicas':
        /"maxUnavailable":1,"selector":\{"matchLabels":\{"app\.kubernetes\.io\/name":"nodemaint-controller"\}\}/,
    },
  },
  {
    file: 'control-plane.yaml',
    changes: {
      [CONTROLLER]:
        /"requiredDuringSchedulingIgnoredDuringExecution"[^]*"--log-level=debug","--log-format=text","--max-parallel-nodes=2"[^]*"HTTPS_PROXY"[^]*"limits":\{"memory":"2Gi"\},"requests":\{"cpu":"50m"[^]*"nodeSelector":\{"kubernetes\.io\/arch":"amd64"\}[^]*"tolerations":\[\{"operator":"Exists"\}\]/,
      'ServiceAccount nodemaint-system/nodemaint-controller': /"eks\.amazonaws\.com\/role-arn"/,
      'ResourceQuota nodemaint-system/nodemaint-critical-pods': undefined,
    },
  },
  {
    file: 'host-network.yaml',
    changes: {
      'Namespace /nodemaint-system': /"pod-security\.kubernetes\.io\/enforce":"privileged"/,
      [CONTROLLER]:
        /"maxSurge":0[^]*"--metrics-address=:18080","--webhook-port=19443"[^]*"containerPort":18080[^]*"containerPort":19443[^]*"dnsPolicy":"ClusterFirstWithHostNet"[^]*"hostNetwork":true/,
      'Service nodemaint-system/nodemaint-webhook': /"targetPort":19443/,
      'NetworkPolicy nodemaint-system/nodemaint-controller': undefined,
    },
  },
  {
    file: 'cert-manager.yaml',
    changes: {
      [CONTROLLER]: /"--webhook-port=9443","--webhook-certificate=secret"/,
      [CONFIGURATION]: /"cert-manager\.io\/inject-ca-from":"nodemaint-system\/nodemaint-webhook"/,
      'Certificate nodemaint-system/nodemaint-webhook':
        /"duration":"720h","issuerRef":\{"kind":"ClusterIssuer","name":"pki"\}[^]*"renewBefore":"240h","secretName":"nodemaint-webhook"/,
      'Issuer nodemaint-system/nodemaint-webhook': undefined,
    },
  },
  {
    file: 'self-signed.yaml',
    changes: {
      'Issuer nodemaint-system/nodemaint-webhook': /"selfSigned":\{\}/,
      'Certificate nodemaint-system/nodemaint-webhook': /"issuerRef":\{"kind":"Issuer","name":"nodemaint-webhook"\}/,
    },
  },
  {
    file: 'own-certificate.yaml',
    changes: {
      [CONTROLLER]: /"--webhook-certificate=secret"/,
      [CONFIGURATION]: /("caBundle":"LS0tLS1CRUdJTg=="[^]*){2}/,
    },
  },
  {
    file: 'egress.yaml',
    changes: {
      'NetworkPolicy nodemaint-system/nodemaint-controller':
        /"egress":\[\{"ports":\[\{"port":6443\}\],"to":\[\{"ipBlock":\{"cidr":"10\.0\.0\.10\/32"\}\}\]\}\][^]*"policyTypes":\["Ingress","Egress"\]/,
      [CONTROLLER]: /"args":\["controller","--metrics-address=:8080"\]/,
      [CONFIGURATION]: undefined,
      'CustomResourceDefinition /nodemaintenances.nodemaintenance.x-k8s.io': undefined,
      'ServiceAccount nodemaint-system/nodemaint-agent-release': undefined,
      'ClusterRole /nodemaint-agent-release': undefined,
      'ClusterRoleBinding /nodemaint-agent-release': undefined,
      'Role nodemaint-system/nodemaint-agent-release': undefined,
      'RoleBinding nodemaint-system/nodemaint-agent-release': undefined,
    },
  },
  {
    file: 'monitoring.yaml',
    changes: {
      'PodMonitor nodemaint-system/nodemaint-controller': /"release":"prometheus"[^]*"interval":"15s"/,
      'ScrapeConfig nodemaint-system/nodemaint-agent':
        /"release":"prometheus"[^]*"replacement":"\$1:9999"[^]*"scrapeInterval":"60s"/,
      [RULES]:
        /^(?![^]*"NodemaintReplicaDown")[^]*"release":"prometheus"[^]*"alert":"NodemaintDrainTakesLong"[^]*? > 172800"[^]*"alert":"NodemaintAgentDown"[^]*?"https:\/\/wiki\.example\.com\/nodemaint#nodemaintagentdown"[^]*?"for":"30m","labels":\{"severity":"warning","team":"platform"\}/,
      'ConfigMap nodemaint-system/nodemaint-dashboard':
        /"annotations":\{"grafana_folder":"Nodes"\},"labels":\{(?![^}]*grafana_dashboard)[^}]*"dashboards":"nodes"/,
    },
  },
  {
    file: 'fleet.yaml',
    changes: {
      'Namespace /nodemaint-installer':
        /"pod-security\.kubernetes\.io\/enforce":"privileged","pod-security\.kubernetes\.io\/warn":"privileged"/,
      'ConfigMap nodemaint-installer/nodemaint-installer': /metricsAddress: :9465/,
      [INSTALLER]:
        /"example\.com\/team":"platform","nodemaintenance\.x-k8s\.io\/config"[^]*"example\.com\/team":"platform"[^]*"affinity":\{"nodeAffinity"[^]*"--disable-kubelet-graceful-shutdown"[^]*"nodeSelector":\{"example\.com\/pool":"workers","kubernetes\.io\/os":"linux"\}[^]*"priorityClassName":"system-node-critical"[^]*"tolerations":\[\{"key":"dedicated","operator":"Exists"\}\][^]*"maxUnavailable":"10%"/,
    },
  },
  {
    file: 'pools.yaml',
    changes: {
      'ConfigMap nodemaint-installer/nodemaint-installer': /enabled: true\\n[^]*maxHoldSec: 3600/,
      'ConfigMap nodemaint-installer/nodemaint-installer-canary': /enabled: true\\n[^]*maxHoldSec: 3600/,
      'ConfigMap nodemaint-installer/nodemaint-installer-gpu':
        /enabled: false\\n {2}provider: aws\\n[^]*maxHoldSec: 86400/,
      [INSTALLER]:
        /"matchLabels":\{"app\.kubernetes\.io\/name":"nodemaint-installer"\}[^]*"image":"registry\.example\.com\/pause:3\.10","imagePullPolicy":"IfNotPresent","name":"done","resources":\{"limits":\{"memory":"16Mi"\}[^]*"install-node","--","install"[^]*"maxUnavailable":"5%"/,
      [`${INSTALLER}-canary`]:
        /"matchLabels":\{"app\.kubernetes\.io\/name":"nodemaint-installer-canary"\}[^]*nodemaint:next"[^]*"nodeSelector":\{"example\.com\/canary":"true","example\.com\/zone":"a","kubernetes\.io\/os":"linux"\}[^]*"tolerations":\[\{"operator":"Exists"\}\][^]*"name":"nodemaint-installer-canary","optional":true[^]*"maxUnavailable":"5%"/,
      [`${INSTALLER}-gpu`]:
        /"--disable-kubelet-graceful-shutdown"[^]*"tolerations":\[\{"key":"nvidia\.com\/gpu","operator":"Exists"\}\][^]*"maxUnavailable":1\b/,
      [`${INSTALLER}-old`]: /"install-node","--","uninstall","--when-idle"/,
    },
  },
];
