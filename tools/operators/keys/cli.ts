import { defineTool } from '../command-line/program.ts';
import { changePlan } from './commands/change-plan.ts';
import { cleanup } from './commands/cleanup.ts';
import { create } from './commands/create.ts';
import { forget } from './commands/forget.ts';
import { identify } from './commands/identify.ts';
import { list } from './commands/list.ts';
import { repair } from './commands/repair.ts';
import { resume, suspend } from './commands/suspend.ts';
import { revoke } from './commands/revoke.ts';
import { rotate } from './commands/rotate.ts';
import { show } from './commands/show.ts';
import { usage } from './commands/usage.ts';
import { type KeyService, openKeyService } from './service.ts';

/** Runs the tool once. Returns the exit code. */
export const runKeys = defineTool<KeyService>({
  call: 'npm run keys --',
  description: 'Issues, shows and revokes the API keys of a stage.',
  guide: 'docs/keys.md',
  afterInterruption:
    'A change may be made or not: look with "list" or "show". "cleanup" deletes what it leaves in API Gateway.',
  commands: [
    create,
    rotate,
    revoke,
    suspend,
    resume,
    changePlan,
    cleanup,
    repair,
    forget,
    list,
    show,
    usage,
    identify,
  ],
  openService: openKeyService,
});
