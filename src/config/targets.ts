import {
  array,
  boolean,
  check,
  type GenericSchema,
  integer,
  literal,
  maxLength,
  maxValue,
  metadata,
  minValue,
  number,
  optional,
  picklist,
  pipe,
  record,
  regex,
  strictObject,
  string,
  union,
  unknown,
  variant,
} from 'valibot'
import { parseDuration, parseSize } from '../core/limits.ts'
import { durationForm, longestMs, parsed, sizeForm } from './forms.ts'

/*
 * Targets as they stand in holdfast.json, and as the library and the command line give them. In every schema here the message is what is
 * accepted.
 */

const about = <T>(description: string, more: { readonly default?: unknown; readonly examples?: readonly unknown[] } = {}) =>
  metadata<T, Record<string, unknown>>({ description, ...more })

const field = <S extends GenericSchema>(schema: S, description: string, more?: { readonly default?: unknown; readonly examples?: readonly unknown[] }) =>
  optional(pipe(schema, about(description, more)))

const textAccepted = 'text without NUL and line feeds, not beginning with -'
/** What becomes an argument of a program of ours is never taken for an option of it. */
const name = pipe(string(textAccepted), regex(/^(?!-)[^\0\r\n]{1,1000}$/, textAccepted))
const plainAccepted = 'text without NUL'
const plain = pipe(
  string(plainAccepted),
  maxLength(10_000, plainAccepted),
  check((text) => !text.includes('\0'), plainAccepted),
)
const pathAccepted = 'an absolute path'
const path = pipe(string(pathAccepted), regex(/^\/[^\0\r\n]{0,4000}$/, pathAccepted))

const durationAccepted = 'a duration like "30s" or "10m", or a number of milliseconds from 1'
const duration = union(
  [
    pipe(number(durationAccepted), minValue(1, durationAccepted), maxValue(longestMs, durationAccepted)),
    pipe(string(durationAccepted), regex(durationForm, durationAccepted), parsed(parseDuration, 1, longestMs, durationAccepted)),
  ],
  durationAccepted,
)

function sizeFrom(least: number) {
  const accepted = `a size like "512MiB", or a whole number of bytes, from ${least}`
  return union(
    [
      pipe(number(accepted), integer(accepted), minValue(least, accepted), maxValue(Number.MAX_SAFE_INTEGER, accepted)),
      pipe(string(accepted), regex(sizeForm, accepted), parsed(parseSize, least, Number.MAX_SAFE_INTEGER, accepted)),
    ],
    accepted,
  )
}

function wholeFrom(least: number, most: number) {
  const accepted = `a whole number from ${least} to ${most}`
  return pipe(number(accepted), integer(accepted), minValue(least, accepted), maxValue(most, accepted))
}

const cpusAccepted = 'a number of processors above 0, like 1.5'
const cpus = pipe(number(cpusAccepted), minValue(0.01, cpusAccepted), maxValue(4096, cpusAccepted))
const labelAccepted = 'a name of letters, digits and . _ - /'
const labels = record(pipe(string(labelAccepted), regex(/^(?!__proto__$)[A-Za-z0-9][\w./-]{0,250}$/, labelAccepted)), plain, 'an object of texts by name')
const socketAccepted = '"unix:///path" or "tcp://host:port"'
const socket = pipe(string(socketAccepted), regex(/^(?:unix:\/\/\/[^\0\r\n]+|tcp:\/\/[\w.:[\]-]+)$/, socketAccepted))
const capabilityAccepted = 'a list of capabilities of Linux like "NET_BIND_SERVICE"'
const variableAccepted = 'a list of names of variables'
const variable = pipe(string(variableAccepted), regex(/^[A-Za-z_][A-Za-z0-9_]*$/, variableAccepted))
const quantityAccepted = 'a quantity of Kubernetes like "500m" or "64Mi"'
const quantity = pipe(string(quantityAccepted), regex(/^\d{1,15}(?:\.\d{1,9})?(?:m|[kMGTPE]i?|e\d{1,2})?$/, quantityAccepted))

const basis = {
  root: field(path, 'Where the workspace is there.'),
  home: field(path, 'The home directory that commands are to have; where another one is found, the target is refused.'),
  supervisor: field(picklist(['auto', 'never'], 'auto or never'), 'never: commands are started by a shell, with the limits of plain mode.', {
    default: 'auto',
  }),
}

export const targetVariants = {
  docker: strictObject({
    backend: literal('docker', 'docker'),
    image: field(name, 'The image of the container that is made. Needed unless a container is named.', { examples: ['node:22'] }),
    container: field(name, 'A container that is there already, by name or id; it is used as it is and never removed.'),
    socket: field(socket, 'Where the engine listens. Default: DOCKER_HOST, the context, then the usual places of Docker and Podman.'),
    context: field(name, 'A context of the docker command.'),
    pull: field(picklist(['missing', 'always', 'never'], 'missing, always, never'), 'When the image is fetched.', { default: 'missing' }),
    user: field(name, 'Who commands run as: uid[:gid] or a name. Default: who runs Holdfast, so that files belong to the caller.'),
    network: field(name, 'The network of the container.', { default: 'none', examples: ['bridge'] }),
    workspace: field(picklist(['mount', 'copy'], 'mount, copy'), 'How the workspace gets there. Default: mount where the engine is on this machine.'),
    memory: field(sizeFrom(6 * 1024 ** 2), 'What it may use of memory; swap is not added.', { examples: ['512MiB'] }),
    cpus: field(cpus, 'How many processors it may use.', { examples: [1.5] }),
    pids: field(wholeFrom(1, 4_194_304), 'How many processes and threads it may have.'),
    readOnly: field(boolean('true or false'), 'Whether the root of its file system cannot be written to.', { default: false }),
    capabilities: field(
      array(pipe(string(capabilityAccepted), regex(/^[A-Z][A-Z_]{1,40}$/, capabilityAccepted)), capabilityAccepted),
      'Capabilities that are added after all were dropped.',
      { default: [] },
    ),
    tmpfs: field(record(path, sizeFrom(4096), 'an object of sizes by path'), 'File systems in memory: their sizes by path.', {
      examples: [{ '/cache': '256MiB' }],
    }),
    labels: field(labels, 'Labels of the container besides those of Holdfast.'),
    idleMs: field(duration, 'A container that nobody uses for so long ends and is removed.', { default: '10m' }),
    ...basis,
  }),
  ssh: strictObject({
    backend: literal('ssh', 'ssh'),
    host: pipe(name, about('A host as ssh knows it: an alias of the configuration of ssh, or user@host.', { examples: ['build-box'] })),
    port: field(wholeFrom(1, 65_535), 'Its port. Default: what ssh is configured for.'),
    user: field(name, 'The account there. Default: what ssh is configured for.'),
    config: field(path, 'Another configuration file for ssh (-F).'),
    connectTimeoutMs: field(duration, 'How long a connection may take.', { default: '20s' }),
    ...basis,
  }),
  kubernetes: strictObject({
    backend: literal('kubernetes', 'kubernetes'),
    namespace: pipe(name, about('The namespace; it has no default.', { examples: ['agents'] })),
    image: field(name, 'The image of the pod that is made. Needed unless a pod is named.'),
    pod: field(name, 'A pod that is there already; it is used as it is and never deleted.'),
    container: field(name, 'The container of the pod. Default: the first one.'),
    kubeconfig: field(path, 'Another kubeconfig. Default: KUBECONFIG, then ~/.kube/config, then what a pod is given.'),
    context: field(name, 'A context of the kubeconfig.'),
    provider: field(picklist(['pod', 'agent-sandbox'], 'pod, agent-sandbox'), 'What makes the pod.', { default: 'pod' }),
    warmPool: field(name, 'The warm pool of agent-sandbox that the pod is taken from.'),
    runtimeClass: field(name, 'The runtime class of the pod, like gvisor.'),
    imagePullPolicy: field(picklist(['Always', 'IfNotPresent', 'Never'], 'Always, IfNotPresent, Never'), 'When the image is fetched.'),
    resources: field(
      strictObject({ cpu: field(quantity, 'Processors.', { examples: ['500m'] }), memory: field(quantity, 'Memory.', { examples: ['512Mi'] }) }),
      'What the pod asks for and may use.',
    ),
    nodeSelector: field(labels, 'Labels of the nodes that it may run on.'),
    serviceAccount: field(name, 'The account whose token is mounted. Default: none.'),
    secrets: field(array(variable, variableAccepted), 'Names of variables of Holdfast that the pod gets from a Secret.', { default: [] }),
    patch: field(record(string('text'), unknown(), 'an object'), 'Merged into the pod last (JSON merge patch, RFC 7396).'),
    labels: field(labels, 'Labels of the pod besides those of Holdfast.'),
    skipTlsVerify: field(boolean('true or false'), 'For test clusters only: the certificate of the server is not checked.', { default: false }),
    idleMs: field(duration, 'A pod that nobody uses for so long ends.', { default: '10m' }),
    ...basis,
  }),
} as const

export const targetSchema = variant('backend', [targetVariants.docker, targetVariants.ssh, targetVariants.kubernetes], 'docker, ssh or kubernetes')

export const targetNameAccepted = 'a name of letters, digits and . _ -, beginning with a letter, and not host, which is this machine'
export const targetName = pipe(string(targetNameAccepted), regex(/^(?!host$)[A-Za-z][\w.-]{0,63}$/, targetNameAccepted))
