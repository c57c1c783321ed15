import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { Validator } from '@seriousme/openapi-schema-validator'
import { currentDocument } from '../api/document.ts'
import { outcome } from '../support/child.ts'
import { isLong } from '../support/long.ts'
import { withKnownValues } from './known-values.ts'

describe('npm run fuzz', () => {
  if (isLong)
    it('fails with instructions when schemathesis is not installed', async () => {
      const index = join(import.meta.dirname, 'index.ts')
      const { code, stderr } = await outcome(process.execPath, ['--import', 'tsx', index], {
        env: { ...process.env, SCHEMATHESIS: 'no-such-command' },
      })
      assert.equal(code, 1)
      assert.match(stderr, /^no-such-command is not installed: pip install schemathesis/m)
    })

  it('changes only the schemas of requests in the document', async () => {
    const document = JSON.parse(currentDocument()) as { paths: object; components: object }
    const changed = withKnownValues({ ...document }) as typeof document
    const { valid, errors } = await new Validator().validate(structuredClone(changed))
    assert.ok(valid, JSON.stringify(errors))
    assert.notDeepEqual(changed, document)
    assert.deepEqual(changed.components, document.components)
    assert.deepEqual(responsesOf(changed.paths), responsesOf(document.paths))
  })
})

const responsesOf = (paths: object) =>
  Object.values(paths).flatMap((operations: object) =>
    Object.values(operations).map(({ responses }: { responses: unknown }) => responses),
  )
