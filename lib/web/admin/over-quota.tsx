/** The section about owners that are over quota or near their limit, the largest excess first. */
import type { OwnersSnapshot } from '../../content/usage/owners-snapshot.ts'
import { Link, Section, StrongLink } from '../parts/components.tsx'
import { OwnerBadge, OwnerLimit } from './owners-form.tsx'

/** Owners that are listed; the table of owners has the others. */
const LISTED = 8

export const OverSection = ({ owners: { overAndNear } }: { owners: OwnersSnapshot }) => (
  <Section
    id="over"
    title="Needs attention"
    aside={
      <Link to="/-/admin/owners?sort=share">
        {overAndNear.length > LISTED
          ? `View all ${overAndNear.length.toLocaleString('en')}`
          : 'Owners by limit'}
      </Link>
    }
  >
    {overAndNear.length === 0 ? (
      <p class="muted">No owner is over quota or near the limit.</p>
    ) : (
      <ul class="plain rows">
        {overAndNear.slice(0, LISTED).map((owner) => (
          <li key={owner.id} class="line">
            <div class="whole">
              <StrongLink to={`/-/storage/${owner.name}`}>{owner.name}</StrongLink>
              <OwnerLimit owner={owner} />
            </div>
            <OwnerBadge owner={owner} />
          </li>
        ))}
      </ul>
    )}
  </Section>
)
