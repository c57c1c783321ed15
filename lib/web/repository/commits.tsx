/** A commit with what it changed. */
import { accountsByAddress, authorAmong } from '../../accounts/find.ts'
import { type Commit, OBJECT_ID, type PersonAtTime } from '../../git/objects/parse.ts'
import type { Account } from '../../records/schema/index.ts'
import { type CommitChanges, changesOf } from '../../repositories/contents/changes.ts'
import { readCommit } from '../../repositories/contents/commits.ts'
import type { OpenRepository } from '../../repositories/contents/open-repository.ts'
import { formatCount, Link, More, Section } from '../parts/components.tsx'
import { mountOf, type View } from '../parts/route.ts'
import { Day } from '../parts/times.tsx'
import { AccountLink } from '../people/account-parts.tsx'
import {
  filePath,
  missing,
  type RepositoryRequest,
  type RepositoryView,
  repositoryPages,
  repositoryView,
} from './access.tsx'
import { Diff, readDiff } from './diff.tsx'

export type People = ReadonlyMap<string, Account>

/** The accounts of authors and committers, as far as the viewer may know that an address is theirs. */
export const authorsOf = (
  { services, user, pagesUrl }: RepositoryRequest,
  commits: readonly Commit[],
): Promise<People> => services.store.read((tx) => accountsByAddress(tx, user, commits, pagesUrl))

export const Author = ({ author, people }: { author: PersonAtTime; people: People }) => {
  const account = authorAmong(people, author)
  return account === undefined ? (
    <bdi>{author.name.trim() || '(no name)'}</bdi>
  ) : (
    <AccountLink account={account} />
  )
}

/** The first line of a message. */
export const subjectOf = ({ message }: Pick<Commit, 'message'>): string =>
  message.trim().split('\n', 1)[0]!.slice(0, 200) || '(no message)'

export const commitPageRoutes = [
  repositoryPages.page({
    path: '/{owner}/{repo}/commit/{sha}',
    part: 'code',
    async handle(request) {
      const { services, view } = request
      const { sha } = request.params
      if (!OBJECT_ID.test(sha)) throw missing(`commit ${sha}`)
      const open = await services.hosting.contents?.openAt(request.user, view.name, sha, request.client)
      const commit = open && (await readCommit(open, open.commit))
      if (commit === undefined) throw missing(`commit ${sha}`)
      return commitView(request, open!, commit)
    },
  }),
]

const isCommittedByAuthor = ({ author, committer }: Commit): boolean =>
  author.email === committer.email && author.name === committer.name

/** Files of a commit that its page lists. */
const MAX_FILES = 200

const commitView = async (
  request: RepositoryRequest,
  open: OpenRepository,
  commit: Commit,
): Promise<View> => {
  const { view } = request
  const changes = (await changesOf(open, [commit])).get(commit.id)
  const people = await authorsOf(request, [commit])
  const ref = { kind: 'commit', name: commit.id } as const
  const mount = mountOf(request.pagesUrl)
  const diff = await readDiff(
    open,
    commit,
    (id, path) => mount + filePath(view, { kind: 'commit', name: id }, path, 'raw'),
  )
  const removed = new Set(
    changes?.files.filter(({ status }) => status === 'removed').map(({ filename }) => filename),
  )
  return repositoryView(
    view,
    'commits',
    subjectOf(commit),
    <>
      <CommitText view={view} commit={commit} people={people} />
      {changes !== undefined && (
        <ChangedFiles
          {...changes}
          lines={changes}
          shown={new Map(diff.files.map(({ path }, index) => [path, index]))}
        />
      )}
      <Diff diff={diff} pageOf={(path) => (removed.has(path) ? undefined : filePath(view, ref, path))} />
    </>,
  )
}

interface CommitTextProps {
  readonly view: RepositoryView
  readonly commit: Commit
  readonly people: People
}

const CommitText = ({ view, commit, people }: CommitTextProps) => {
  const { id, author, committer, parents } = commit
  const text = commit.message.trim().split('\n').slice(1).join('\n').trim()
  return (
    <section aria-labelledby="commit">
      <div class="section-head">
        <h1 class="subject" id="commit">
          <bdi>{subjectOf(commit)}</bdi>
        </h1>
        <Link class="button secondary small" to={filePath(view, { kind: 'commit', name: id }, '')}>
          Browse files
        </Link>
      </div>
      {text !== '' && (
        <pre class="message" dir="auto">
          {text.slice(0, MAX_MESSAGE)}
        </pre>
      )}
      <p class="small">
        <Author author={author} people={people} />
        {isCommittedByAuthor(commit) ? (
          ' committed on '
        ) : (
          <>
            {' '}
            is the author, <Author author={committer} people={people} /> committed on{' '}
          </>
        )}
        <Day seconds={committer.time} />
      </p>
      <dl class="ids">
        <dt>Commit</dt>
        <dd>
          <ObjectId id={id} />
        </dd>
        {parents.length > 0 && <dt>{parents.length === 1 ? 'Parent' : 'Parents'}</dt>}
        {parents.map((parent) => (
          <dd key={parent}>
            <Link to={`${view.path}/commit/${parent}`}>
              <ObjectId id={parent} />
            </Link>
          </dd>
        ))}
      </dl>
    </section>
  )
}

const MAX_MESSAGE = 8000

/** The whole id of an object of git. Where it does not fit, it has two lines of the same length. */
export const ObjectId = ({ id }: { id: string }) => (
  <code class="id">
    {id.slice(0, id.length / 2)}
    <wbr />
    {id.slice(id.length / 2)}
  </code>
)

interface ChangedFilesProps extends Pick<CommitChanges, 'files'> {
  /** Numbers of lines, where they are known. */
  readonly lines?: Pick<CommitChanges, 'additions' | 'deletions'>
  /** Positions of the files in the diff, by their paths. */
  readonly shown?: ReadonlyMap<string, number>
}

export const ChangedFiles = ({ files, lines, shown }: ChangedFilesProps) => (
  <Section
    id="changes"
    title={formatCount(files.length, 'changed file')}
    aside={
      lines && (
        <span class="small">
          {formatCount(lines.additions, 'added line')}, {formatCount(lines.deletions, 'removed line')}
        </span>
      )
    }
  >
    <ul class="plain facts">
      {files.slice(0, MAX_FILES).map(({ filename, status }) => (
        <li key={filename} class="line">
          {shown?.has(filename) ? (
            <a href={`#diff-${shown.get(filename)}`}>
              <bdi>{filename}</bdi>
            </a>
          ) : (
            <bdi>{filename}</bdi>
          )}{' '}
          <span class="tag">{status}</span>
        </li>
      ))}
    </ul>
    <More left={files.length - MAX_FILES} />
  </Section>
)
