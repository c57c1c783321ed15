import { recordingsOf } from './recordings.ts'
import { replay } from './replay.ts'
import type { World } from './world.ts'

const recordings = new Map(recordingsOf('ssh-keys').map((recording) => [recording.id, recording]))

/** Adds a key of the recorded server whose request was not recorded. */
const add = (as: string, title: string, key: string) => (world: World) =>
  world.make(as, 'POST', '/user/keys', { title, key })

const [bobsKey] = recordings.get('ssh.users')!.response.body as { key: string }[]
const { key: otherFormat } = recordings.get('ssh.bad.rfc4716')!.request.body as { key: string }
const { key: twoLines } = recordings.get('ssh.bad.twolines')!.response.body as { key: string }
const { key: furtherKey } = recordings.get('ssh.readonly.string')!.request.body as { key: string }
const { key: deployKey } = recordings.get('ssh.deploy')!.request.body as { key: string }

replay('ssh-keys', {
  steps: {
    'ssh.dup.same': add('bob', 'bob', bobsKey!.key),
    'ssh.bad.twolines': add('alice', 'bad twolines', twoLines),
    'ssh.bad.rfc4716': add('alice', 'in another format', otherFormat),
    'ssh.get.fp': async (world) => {
      await add('alice', 'one more', deployKey)(world)
      await add('alice', 'and another', furtherKey)(world)
    },
  },
  requests: {
    'ssh.del.admin': async (world) => {
      const { items } = await world.running.allot.hosting.sshKeys.list(2, { offset: 0, limit: 50 })
      return { path: `/api/v1/user/keys/${items.find(({ title }) => title === 'del by root')!.id}` }
    },
  },
  leaveOut: { 'ssh.deploy*': 'Allot has no deploy keys' },
})
