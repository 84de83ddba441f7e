// Paths of the workspace that the session acts in.
import { session } from '../api'

export const inWorkspace = (path: string): string => `/api/workspaces/${session.value?.workspaceId ?? ''}/${path}`
