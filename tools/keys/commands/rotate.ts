import { Option } from 'commander';
import { z } from 'zod';
import { keyCommand } from '../command.ts';
import { KeyToolError } from '../errors.ts';
import { time, untilTime } from '../format.ts';
import { deleteGatewayKey, flushAuthorizer } from '../gateway.ts';
import { issue, type IssuedKey, type Reveal } from '../issue.ts';
import { duration } from '../options.ts';
import { type AdministeredKey, isValid, ownLimits } from '../records.ts';
import { type KeyService, newLine, nowOf } from '../service.ts';
import { issuedJson, issuedText } from '../views.ts';

/** Seconds within which API Gateway should accept a new key everywhere. */
const shortestOverlap = 60;

export const rotate = keyCommand({
  name: 'rotate',
  summary: 'issue a key in place of another, which stays valid for a while',
  details: 'On AWS a new key becomes usable some seconds later: an overlap below 60s can lock its owner out.',
  example: 'key_06fz1m4tqabcdefg --stage prod --overlap 24h',
  options: [
    new Option('--overlap <duration>', 'how long the old key stays valid: 0s, 90s, 15m, 24h, 7d')
      .default(24 * 3_600, '24h')
      .argParser(duration(0)),
  ],
  schema: z.object({ overlap: z.number() }),
  refusal: 'rotated',
  question: ({ keyId, owner, plan }, stage) => `Replace ${keyId} (${owner}, ${plan}) in ${stage}?`,
  run: async ({ service, output, stage }, key, { overlap }) => {
    if (overlap < shortestOverlap) {
      output.note(
        'The old key ends before API Gateway accepts the new one everywhere: use --overlap 60s or more unless the old key leaked.',
        'yellow',
      );
    }
    const { expiresAt } = await rotateKey(service, key, overlap, (issued) =>
      output.reveal(
        { ...issuedJson(issued, stage), replaces: key.keyId, overlapSeconds: overlap },
        issuedText(issued),
      ),
    );
    output.note(
      `The new key is valid, the old one until ${time(expiresAt)}. API Gateway can need some seconds until it accepts the new one everywhere.`,
    );
  },
});

/** @param overlap seconds for which the old key stays valid; 0 ends it at once */
async function rotateKey(
  service: KeyService,
  old: AdministeredKey,
  overlap: number,
  reveal: Reveal,
): Promise<IssuedKey & { readonly expiresAt: number }> {
  const { keyId, owner, plan, note } = old;
  if (old.replacedBy !== undefined) {
    throw new KeyToolError('refused', `${keyId} was replaced by ${old.replacedBy}. Rotate that one.`);
  }
  let expiresAt = 0;
  const request = { owner, plan, limits: ownLimits(old), note };
  const issued = await issue(service, request, reveal, {
    key: old,
    change: async (replacedBy) => {
      // A rotation cannot give a key more time than it had.
      expiresAt = Math.min(nowOf(service) + overlap, old.expiresAt || Infinity);
      const line = await newLine(service, 'replaced', `by ${replacedBy}, valid ${untilTime(expiresAt)}`);
      return { set: { replacedBy, expiresAt }, line, anyLength: true };
    },
  });
  // Cached answers of the authorizer have no expiry.
  await flushAuthorizer(service);
  await service.afterStep('authorizer cache');
  if (!isValid({ ...old, expiresAt }, nowOf(service)) && old.gatewayKeyId !== undefined) {
    await deleteGatewayKey(service, old.gatewayKeyId);
    await service.afterStep('old gateway key');
  }
  return { ...issued, expiresAt };
}
